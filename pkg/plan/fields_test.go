package plan

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// fullPlan returns a plan that has a value in each field.
func fullPlan() *Plan {
	manifestOf := func(name string) Manifest {
		return Manifest{Digest: digest.FromString(name), MediaType: ocispec.MediaTypeImageManifest, Size: 10, Blobs: []digest.Digest{digest.FromString("blob")}}
	}
	one, index, payload, graph := manifestOf("one"), manifestOf("index"), manifestOf("payload"), manifestOf("graph")
	imageOf := func(m Manifest, kind ImageKind, source, repository, tag string) Image {
		return Image{Source: source, Kind: kind, Digest: m.Digest, Repository: repository, Tags: []string{tag}, Size: 15, Reasons: []Reason{{List: "additionalImages"}}}
	}
	const catalog = "quay.io/org/index:v1"
	images := []Image{
		imageOf(one, AdditionalImage, "quay.io/org/a:v1", "a", "v1"),
		imageOf(index, CatalogImage, catalog, "b", "v1"),
		imageOf(payload, ReleaseImage, "quay.io/org/release@"+string(payload.Digest), "c", "4.20.1-x86_64"),
		imageOf(graph, GraphImage, "quay.io/org/base@"+string(one.Digest), "d", "latest"),
	}
	images[1].Catalog = catalog
	images[0].Signers = []Signer{{Type: "sigstoreSigned", Name: "key 0123"}}
	images[0].Signatures = []Signature{{Digest: one.Digest, Body: []byte("signature")}}
	images[2].Reasons = []Reason{{Release: "4.20.1-x86_64"}}
	p := &Plan{
		Kind: Kind, Version: Version, Name: "imageset", ArchiveSize: 4,
		Catalogs: []Catalog{{
			Source: catalog, SourceDigest: one.Digest, Digest: index.Digest, Repository: "b", Tag: "v1", Built: true, ConfigsDir: "/configs",
			Selection: []byte(`{"packages":[{"name":"op"}]}`), Template: "kind: CatalogSource\n", TemplateName: "cs",
			ClusterCatalogTemplate: "kind: ClusterCatalog\n", ClusterCatalogTemplateName: "cc",
			Packages: []Package{{Name: "op", DefaultChannel: "stable", Channels: []Channel{{Name: "stable", Head: "op.v1", Bundles: []Bundle{{Name: "op.v1", Version: "1.0.0", Reason: "head"}}}}}},
			Required: []Required{{Package: "op", Channel: "stable", Bundle: "op.v1", For: "op.v2"}}, Excluded: []Excluded{{Package: "x", Images: []string{"quay.io/org/x:v1"}}},
		}},
		Releases: []Release{{
			Product: release.OCP, Version: "4.20.1", Arch: release.DefaultArch, Source: images[2].Source, Digest: payload.Digest, Repository: "c", Tag: "4.20.1-x86_64",
			Reasons: []ReleaseReason{{"head", "stable-4.20"}}, URL: "https://example.com/errata", Signatures: []Signature{{Digest: payload.Digest, Body: []byte("signature")}},
			Tools: []Tool{{Name: "oc", Platform: "linux/amd64", File: "oc-4.20.1-linux-amd64"}}, LiveISOs: []LiveISO{{Arch: release.DefaultArch, File: "live.iso", Build: "9.6.1"}},
		}},
		Updates:         []UpdatePath{{Product: release.OCP, Arch: release.DefaultArch, Channel: "stable-4.20", From: "4.20.1", To: "4.20.1", Hops: []Hop{}}},
		UpdateGraphs:    []UpdateGraph{{URL: "https://example.com/graph", SHA256: one.Digest}},
		GraphData:       &GraphData{Source: "https://example.com/data", SHA256: one.Digest, Base: "quay.io/org/base@" + string(one.Digest), MoreBases: []string{"quay.io/org/base:v1"}, Digest: graph.Digest, Repository: "d", Tag: "latest"},
		SignaturePolicy: digest.FromString("policy"),
		Images:          images,
		Missing:         []Missing{{Source: "quay.io/org/gone:v1", Kind: RelatedImage, Message: "not found\n\tat all", Reasons: []Reason{{Catalog: catalog, Package: "op", Bundle: "op.v1", Name: "x"}}}},
		Blocked:         []Blocked{{Source: "quay.io/org/blocked:v1", Pattern: "blocked", Reasons: []Reason{{List: "additionalImages"}}}},
		Notes:           []string{"a note\nof two lines"},
		Manifests:       []Manifest{one, index, payload, graph},
		Blobs:           []Blob{{Digest: digest.FromString("blob"), Size: 5}},
	}
	p.Totals = p.Count()
	return p
}

func textOf(t *testing.T, p *Plan) []byte {
	t.Helper()
	var out bytes.Buffer
	fail.On(t, p.Write(&out))
	return out.Bytes()
}

// TestReadFields checks that each field of a plan is checked when the plan is read, also if kind and
// version are its last fields, and when it is made.
func TestReadFields(t *testing.T) {
	const escape = "\x1b[2J"
	for name, tc := range map[string]struct {
		alter func(p *Plan)
		want  string
	}{
		"nothing":          {func(*Plan) {}, ""},
		"no archive size":  {func(p *Plan) { p.ArchiveSize = 0 }, ""},
		"name":             {func(p *Plan) { p.Name = "../x" }, `its name "../x"`},
		"no name":          {func(p *Plan) { p.Name = "" }, `its name ""`},
		"policy":           {func(p *Plan) { p.SignaturePolicy = "sha256:x" }, "the digest of the signature policy"},
		"no policy":        {func(p *Plan) { p.SignaturePolicy, p.Images[0].Signers = "", nil }, ""},
		"signer":           {func(p *Plan) { p.Images[0].Signers[0].Name = escape }, "the name of a signer"},
		"type of a signer": {func(p *Plan) { p.Images[0].Signers[0].Type = escape }, "the type of a signer"},
		"signers":          {func(p *Plan) { p.Images[0].Signers = make([]Signer, maxSigners+1) }, "it has 65 signers"},
		"unsigned":         {func(p *Plan) { p.Images[0].Signatures = nil }, ""},
		"image signature":  {func(p *Plan) { p.Images[0].Signatures[0].Body = nil }, "a signature has 0 bytes"},
		"signature digest": {func(p *Plan) { p.Images[0].Signatures[0].Digest = "sha256:1" }, "the digest of a signature"},
		"image signatures": {func(p *Plan) {
			p.Images[0].Signatures = slices.Repeat(p.Images[0].Signatures, maxSignatures+1)
		}, "1025 signatures are more than 1024"},
		"large signatures": {func(p *Plan) {
			large := Signature{Digest: p.Images[0].Digest, Body: make([]byte, maxSignatureBytes/2)}
			p.Images[0].Signatures = append(p.Images[0].Signatures, large, large)
		}, "its signatures have 1048585 bytes, more than 1048576"},
		"archive size":      {func(p *Plan) { p.ArchiveSize = -1 }, "its archiveSize is -1"},
		"image newline":     {func(p *Plan) { p.Images[0].Source = "quay.io/org/a:v1\nkind: Pod" }, `"quay.io/org/a:v1\nkind: Pod" is not the reference of an image`},
		"image shell":       {func(p *Plan) { p.Images[0].Source = "quay.io/org/$(touch /tmp/x):v1" }, "is not the reference of an image"},
		"image without tag": {func(p *Plan) { p.Images[0].Source = "quay.io/org/a" }, "neither a tag nor a digest"},
		"image folder":      {func(p *Plan) { p.Images[0].Source = "oci:///a\n" }, "control character"},
		"image no folder":   {func(p *Plan) { p.Images[0].Source = "oci://" }, "names no folder"},
		"image other digest": {func(p *Plan) {
			p.Images[0].Kind, p.Images[0].Source = RelatedImage, "quay.io/a/b@"+string(p.Images[1].Digest)
		}, "another digest"},
		"image kind":       {func(p *Plan) { p.Images[0].Kind = "pod" }, `"pod" is not a kind`},
		"image repository": {func(p *Plan) { p.Images[0].Repository = "../a" }, `"../a" is not a repository path`},
		"image tag":        {func(p *Plan) { p.Images[0].Tags = []string{"v 1"} }, `"v 1" is not a tag`},
		"image tags":       {func(p *Plan) { p.Images[0].Tags = nil }, "it has no tag"},
		"signature": {func(p *Plan) {
			p.Images[0].Kind, p.Images[0].Subject = SignatureImage, p.Images[1].Digest
		}, ""},
		"referrer": {func(p *Plan) {
			p.Images[0].Kind, p.Images[0].Subject, p.Images[0].Tags = ReferrerImage, p.Images[1].Digest, nil
		}, ""},
		"subject of an image": {func(p *Plan) { p.Images[0].Subject = p.Images[1].Digest }, `it has a subject, but it is of kind "additional"`},
		"no subject":          {func(p *Plan) { p.Images[0].Kind, p.Images[0].Tags = ReferrerImage, nil }, "a referrer has a subject and no tag"},
		"tagged referrer":     {func(p *Plan) { p.Images[0].Kind, p.Images[0].Subject = ReferrerImage, p.Images[1].Digest }, "a referrer has a subject and no tag"},
		"its own subject":     {func(p *Plan) { p.Images[0].Kind, p.Images[0].Subject = SBOMImage, p.Images[0].Digest }, "it is its own subject"},
		"subject digest":      {func(p *Plan) { p.Images[0].Kind, p.Images[0].Subject = SBOMImage, "sha256:1" }, `the subject, "sha256:1", is not a digest`},
		"untagged signature": {func(p *Plan) {
			p.Images[0].Kind, p.Images[0].Subject, p.Images[0].Tags = SignatureImage, p.Images[1].Digest, nil
		}, "it has no tag"},
		"image reason":          {func(p *Plan) { p.Images[0].Reasons[0].Bundle = escape }, "the bundle of a reason has a control character"},
		"image length":          {func(p *Plan) { p.Images[0].Source = "quay.io/org/" + strings.Repeat("a", 5000) + ":v1" }, "(5015 bytes)"},
		"catalog source":        {func(p *Plan) { p.Catalogs[0].Source = "quay.io/org/index:v1 " }, "is not the reference of an image"},
		"catalog source digest": {func(p *Plan) { p.Catalogs[0].SourceDigest = "sha256:1" }, `"sha256:1", is not a digest`},
		"catalog target":        {func(p *Plan) { p.Catalogs[0].Target = "a\n" }, "the target has a control character"},
		"catalog folder":        {func(p *Plan) { p.Catalogs[0].ConfigsDir = "/a/../.." }, "is not the folder of a catalog"},
		"catalog selection":     {func(p *Plan) { p.Catalogs[0].Selection = []byte(`[]`) }, "the selection is not an object"},
		"catalog selected":      {func(p *Plan) { p.Catalogs[0].Selection = []byte(`{"a":"\u001b"}`) }, "the selection has a control character"},
		"catalog template":      {func(p *Plan) { p.Catalogs[0].Template = escape }, "the template has a control character"},
		"template name":         {func(p *Plan) { p.Catalogs[0].TemplateName = "a\nb" }, "the template name has a control character"},
		"cluster template":      {func(p *Plan) { p.Catalogs[0].ClusterCatalogTemplate = escape }, "the template of the ClusterCatalog has a control character"},
		"cluster template name": {func(p *Plan) { p.Catalogs[0].ClusterCatalogTemplateName = "a\nb" }, "the name of the template of the ClusterCatalog has a control"},
		"cluster template size": {func(p *Plan) { p.Catalogs[0].ClusterCatalogTemplate = strings.Repeat("a", maxValue+1) }, "bytes, more than 4194304"},
		"package":               {func(p *Plan) { p.Catalogs[0].Packages[0].Name = "\u202e" }, "the name of a package has a control character"},
		"channel":               {func(p *Plan) { p.Catalogs[0].Packages[0].Channels[0].Head = "\u009b" }, "the head of a channel"},
		"bundle":                {func(p *Plan) { p.Catalogs[0].Packages[0].Channels[0].Bundles[0].Version = "1\n" }, "the version of a bundle"},
		"required":              {func(p *Plan) { p.Catalogs[0].Required[0].For = escape }, "control character"},
		"excluded":              {func(p *Plan) { p.Catalogs[0].Excluded[0].Images[0] = escape }, "control character"},
		"release product":       {func(p *Plan) { p.Releases[0].Product = escape }, "the product has a control character"},
		"release version":       {func(p *Plan) { p.Releases[0].Version = "4.20.1\n" }, `"4.20.1\n" is not a version`},
		"release architecture":  {func(p *Plan) { p.Releases[0].Arch = "../x" }, `"../x" is not an architecture`},
		"release source":        {func(p *Plan) { p.Releases[0].Source = "a b" }, "is not the reference of an image"},
		"release channel":       {func(p *Plan) { p.Releases[0].Reasons[0].Channel = "a b" }, `"a b" is not a channel`},
		"release URL":           {func(p *Plan) { p.Releases[0].URL = "https://a\nb" }, "the URL has a control character"},
		"release signature":     {func(p *Plan) { p.Releases[0].Signatures[0].Body = nil }, "a signature has 0 bytes"},
		"tool":                  {func(p *Plan) { p.Releases[0].Tools[0].Name = escape }, "the name of a tool has a control character"},
		"tool of the future":    {func(p *Plan) { p.Releases[0].Tools[0].Name = "ocx" }, ""},
		"tool platform":         {func(p *Plan) { p.Releases[0].Tools[0].Platform = escape }, "the platform of a tool has a control character"},
		"tool file":             {func(p *Plan) { p.Releases[0].Tools[0].File = "../oc" }, `the tool oc has "../oc" as the name of its file`},
		"tool without a file":   {func(p *Plan) { p.Releases[0].Tools[0].File = ".." }, `the tool oc has ".." as the name of its file`},
		"tool file name":        {func(p *Plan) { p.Releases[0].Tools[0].File = "a\nb" }, "the file of a tool has a control character"},
		"update version":        {func(p *Plan) { p.Updates[0].From = "latest" }, `"latest" is not a version`},
		"update channel":        {func(p *Plan) { p.Updates[0].Channel = "a\nb" }, "is not a channel"},
		"risk": {func(p *Plan) {
			p.Updates[0].Hops = []Hop{{From: "4.20.1", To: "4.20.1", Risks: []Risk{{Name: escape}}}}
		}, "the name of a risk"},
		"gate": {func(p *Plan) {
			p.Updates[0].Hops = []Hop{{From: "4.20.1", To: "4.20.1", Acks: []Ack{{Message: escape}}}}
		}, "a gate has a control"},
		"update graph":      {func(p *Plan) { p.UpdateGraphs[0].URL = escape }, "the URL has a control character"},
		"graph data base":   {func(p *Plan) { p.GraphData.Base = "a b" }, `the base a b is not the reference`},
		"graph data":        {func(p *Plan) { p.GraphData.SHA256 = "x" }, `"x", is not a digest`},
		"missing":           {func(p *Plan) { p.Missing[0].Source = "a\nb" }, "the source has a control character"},
		"missing message":   {func(p *Plan) { p.Missing[0].Message = "all\rwell" }, "the reason has a control character"},
		"missing length":    {func(p *Plan) { p.Missing[0].Message = strings.Repeat("a", 70000) }, "the reason has 70000 bytes, more than 65536"},
		"blocked":           {func(p *Plan) { p.Blocked[0].Pattern = "a\nb" }, "the pattern has a control character"},
		"note":              {func(p *Plan) { p.Notes[0] = escape }, "a note has a control character"},
		"manifest type":     {func(p *Plan) { p.Manifests[0].MediaType = "text/html" }, `"text/html" is not the type of a manifest`},
		"manifest size":     {func(p *Plan) { p.Manifests[0].Size = 1 << 30 }, "it has the size 1073741824"},
		"manifest blobs":    {func(p *Plan) { p.Manifests[0].MediaType = ocispec.MediaTypeImageIndex }, "it is an index and lists blobs"},
		"manifest children": {func(p *Plan) { p.Manifests[0].Manifests = []digest.Digest{"x"} }, "it is an image and lists manifests"},
		"blob size":         {func(p *Plan) { p.Blobs[0].Size = 0 }, "has the size 0, but it is not the digest of empty content"},
		"blob digest":       {func(p *Plan) { p.Blobs[0].Digest = "md5:x" }, `"md5:x", is not a digest`},
		"sizes":             {func(p *Plan) { p.Blobs[0].Size = 1 << 62 }, "has the size 4611686018427387904"},
	} {
		t.Run(name, func(t *testing.T) {
			p := fullPlan()
			tc.alter(p)
			text := textOf(t, p)
			first := []byte("{\n \"kind\": \"GantryPlan\",\n \"version\": 1,\n")
			last := append([]byte("{"), bytes.TrimPrefix(bytes.TrimSuffix(text, []byte("\n}\n")), first)...)
			last = append(last, []byte(",\"version\": 1, \"kind\": \"GantryPlan\"}")...)
			_, err := Read(bytes.NewReader(text))
			_, errLast := Read(bytes.NewReader(last))
			for at, err := range []error{err, errLast, p.Check()} {
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%d: %v, want %q", at, err, tc.want)
				}
				if err != nil && len(err.Error()) > 2000 {
					t.Errorf("the error has %d bytes", len(err.Error()))
				}
			}
		})
	}
	p := fullPlan()
	again, err := Read(bytes.NewReader(textOf(t, p)))
	fail.On(t, err)
	fail.Diff(t, string(textOf(t, p)), string(textOf(t, again)))
}

// TestEmptyBlob checks that empty content may have the size 0.
func TestEmptyBlob(t *testing.T) {
	for _, d := range []digest.Digest{digest.SHA256.FromBytes(nil), digest.SHA512.FromBytes(nil)} {
		fail.On(t, CheckSize(d, 0))
	}
}

func TestCleanMessage(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"one\n\ttwo\r\nthree":     "one\n\ttwo\r\nthree",
		"a\x1b[2Jb\rc\u202ed\x00": `a\x1b[2Jb\rc\u202ed\x00`,
		"\u009b \xff":             `\u009b ` + "\ufffd",
	} {
		got := CleanMessage(in)
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		fail.On(t, checkLines("it", got))
	}
	if got := CleanMessage(strings.Repeat("ä", maxMessage)); len(got) > maxMessage || !strings.HasSuffix(got, "ä...") {
		t.Errorf("%d bytes, %q", len(got), got[len(got)-10:])
	}
}
