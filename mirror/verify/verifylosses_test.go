package verify_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// A loss is one thing that a complete mirror loses.
type loss struct {
	name string
	lose func()
	// blobs means that Run finds it with Options.Blobs.
	blobs bool
	// words are in one of the problems that Run finds.
	words []string
	// pushes is how many manifests and blobs the repair sends; 0 means one.
	pushes int
	// byResources means that writing the cluster resources again restores it.
	byResources bool
}

// problems returns everything that is wrong, a line each.
func problems(r *verify.VerifiedRegistry) (all []string) {
	for _, m := range r.Missing {
		all = append(all, fmt.Sprintf("%s %s %v %v %+v", m.Source, m.Problem, m.Manifests, m.Blobs, m.Reasons))
	}
	if r.Resources != nil {
		for _, p := range r.Resources.Problems {
			all = append(all, fmt.Sprintf("%s %s %s %s", p.File, p.Object, p.Image, p.Problem))
		}
	}
	return all
}

// findAndRepair checks that Run finds each loss and that one run repairs it, with requests for nothing else.
func findAndRepair(s *mirrortest.Site, lock string, losses []loss) {
	s.T.Helper()
	where := s.Docker("")
	s.Verified("", where, byPlan(lock), deep)
	for _, l := range losses {
		l.lose()
		found := problems(mismatched(s, where, byPlan(lock), func(o *verify.Options) { o.Blobs = l.blobs }))
		if !slices.ContainsFunc(found, func(line string) bool {
			return !slices.ContainsFunc(l.words, func(word string) bool { return !strings.Contains(line, word) })
		}) {
			s.T.Errorf("%s: nothing with %q in\n%s", l.name, l.words, strings.Join(found, "\n"))
		}
		s.Source.ResetLog()
		s.Mirror.ResetLog()
		if l.byResources {
			_, err := mirroring.Resources(s.T.Context(), cluster.ResourcesOptions{Env: s.NewEnv(), Workspace: s.Workspace(), Mirror: where})
			fail.On(s.T, err)
		} else {
			repair(s, lock, &l)
		}
		s.Verified("", where, byPlan(lock), deep)
	}
}

func repair(s *mirrortest.Site, lock string, l *loss) {
	s.T.Helper()
	r := s.Mirrored("", s.Docker(""), mirrortest.FromPlan(lock), func(o *mirroring.Options) { o.Env, o.RepairMissing = s.NewEnv(), true })
	if len(r.MissingBefore) == 0 {
		s.T.Errorf("%s: nothing was missing before the repair", l.name)
	}
	var sent []string
	for _, r := range mirrortest.ContentRequests(s.Mirror) {
		if r.Kind() == "POST upload" || r.Kind() == "PUT manifest" {
			sent = append(sent, r.Method+" "+r.Path)
		}
	}
	if len(sent) != max(1, l.pushes) {
		s.T.Errorf("%s: %d manifests and blobs were sent, want %d:\n%s", l.name, len(sent), max(1, l.pushes), strings.Join(sent, "\n"))
	}
	if n := s.Source.Requests()["GET blob"]; l.blobs != (n == 1) {
		s.T.Errorf("%s: %d blobs were read from the source", l.name, n)
	}
}

// layerOf returns the last layer of an image, or of the first platform of an index.
func layerOf(p *plan.Plan, d digest.Digest) digest.Digest {
	for _, m := range p.Manifests {
		switch {
		case m.Digest != d:
		case len(m.Blobs) > 0:
			return m.Blobs[len(m.Blobs)-1]
		default:
			return layerOf(p, m.Manifests[0])
		}
	}
	return ""
}

// inWorkspace returns the only file of the workspace with a name of this pattern, or the first.
func inWorkspace(s *mirrortest.Site, pattern string) string {
	s.T.Helper()
	found, err := filepath.Glob(filepath.Join(s.Workspace(), pattern))
	if err != nil || len(found) == 0 {
		s.T.Fatalf("%s: %v", pattern, err)
	}
	return found[0]
}

// removes returns a function that removes a file of the workspace.
func removes(s *mirrortest.Site, pattern string) func() {
	return func() {
		if err := os.Remove(inWorkspace(s, pattern)); err != nil {
			s.T.Error(err)
		}
	}
}

// changes returns a function that replaces a text in a file of the workspace.
func changes(s *mirrortest.Site, pattern, old, with string) func() {
	return func() {
		file := inWorkspace(s, pattern)
		text, err := os.ReadFile(file)
		if err == nil && !strings.Contains(string(text), old) {
			s.T.Errorf("%s has no %q", file, old)
		}
		if err == nil {
			err = os.WriteFile(file, []byte(strings.Replace(string(text), old, with, 1)), 0o600)
		}
		if err != nil {
			s.T.Error(err)
		}
	}
}

// TestEachLossOfACatalog takes from a mirror of operators what it has, and from its cluster resources.
func TestEachLossOfACatalog(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	lock, p := s.PlanFile(s.Path("imageset.yaml"), "plan.json")
	s.Mirrored("", s.Docker(""), mirrortest.FromPlan(lock))
	index := &p.Manifests[slices.IndexFunc(p.Manifests, func(m plan.Manifest) bool { return len(m.Manifests) > 1 })]
	image := func(is func(*plan.Image) bool) *plan.Image {
		return &p.Images[slices.IndexFunc(p.Images, func(img plan.Image) bool { return is(&img) })]
	}
	indexed := image(func(img *plan.Image) bool { return img.Digest == index.Digest })
	catalog := image(func(img *plan.Image) bool { return img.Kind == plan.CatalogImage && img.Repository == mirrortest.Acme })
	related := image(func(img *plan.Image) bool { return img.Kind == plan.RelatedImage && img.Digest != index.Digest })
	bundle, layer := related.Reasons[0].Bundle, layerOf(p, related.Digest).String()
	findAndRepair(s, lock, []loss{
		{name: "an image", lose: func() { s.Delete(related.Repository + "/manifests/" + related.Digest.String()) }, words: []string{related.Source, "it is missing", bundle}},
		{name: "a child", lose: func() { s.Delete(indexed.Repository + "/manifests/" + index.Manifests[0].String()) }, words: []string{indexed.Source, "1 of its"}},
		{name: "a blob", lose: func() { s.Delete(related.Repository + "/blobs/" + layer) }, blobs: true, words: []string{related.Source, "its blob " + layer + " is missing", bundle}},
		{name: "a catalog", lose: func() { s.Delete(mirrortest.Acme + "/manifests/" + catalog.Digest.String()) }, words: []string{"the mirror does not have this catalog", "cs-"}},
		{name: "a CatalogSource", lose: removes(s, "cluster-resources/cs-*.yaml"), words: []string{"does not exist anymore"}, byResources: true},
		{name: "a mirror set", lose: removes(s, "cluster-resources/idms-*.yaml"), words: []string{"clusters do not find it in the mirror", related.Source}, byResources: true},
		{name: "an entry of registries.conf", lose: func() {
			fail.On(t, os.WriteFile(inWorkspace(s, "hosts/containers/registries.conf.d/*"), nil, 0o600))
		}, words: []string{"hosts do not find it in the mirror", related.Source}, byResources: true},
		{name: "an altered CatalogSource", lose: changes(s, "cluster-resources/cs-operator-index*.yaml", catalog.Digest.String(), digest.FromString("another").String()),
			words: []string{"the mirror does not have this catalog"}, byResources: true},
	})
	// The files may be elsewhere, and the workspace need not exist.
	elsewhere := func(o *verify.Options) { o.Plan, o.Workspace = lock, s.Path("none") }
	given := func(dir string) func(*verify.Options) { return func(o *verify.Options) { o.Resources = dir } }
	if r := s.Verified("", s.Docker(""), elsewhere).Registry; r.Resources != nil {
		t.Errorf("%+v", r.Resources)
	}
	resources := filepath.Join(s.Workspace(), "cluster-resources")
	s.Verified("", s.Docker(""), elsewhere, given(resources))
	removes(s, "cluster-resources/itms-*.yaml")()
	if r := mismatched(s, s.Docker(""), elsewhere, given(resources)); r.Resources == nil || len(r.Resources.Problems) == 0 || len(r.Missing) > 0 {
		t.Errorf("%+v", r)
	}
	_, err := runs(s, s.Docker(""), elsewhere, given(s.Path("absent")))
	mirrortest.Refused(t, err, advice.Input, "Options.Resources", "no such file")
}

// TestEachLossOfASignature takes from a mirror what belongs to an image.
func TestEachLossOfASignature(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	client, at := s.Source.Client(), "vendor/app"
	index, err := registrytest.Index("signed")
	fail.On(t, err)
	root, err := registrytest.Descriptor(index)
	if err == nil {
		_, err = client.Push(t.Context(), at, "v1", index)
	}
	fail.On(t, err)
	sign := func(ending string) digest.Digest {
		d, err := client.PushSignature(t.Context(), at, root.Digest, ending, "root")
		fail.On(t, err)
		return d
	}
	signature := sign(".sig")
	sign(".att")
	sign(".sbom")
	var bundle ocispec.Descriptor
	if bundle, err = client.PushReferrer(t.Context(), at, registrytest.Referrer{Subject: root, ArtifactType: "application/vnd.dev.sigstore.bundle.v0.3+json", Text: "a bundle"}); err == nil {
		err = client.PushReferrersTag(t.Context(), at, root.Digest, bundle)
	}
	fail.On(t, err)
	lock, p := s.PlanFile(s.Images(s.Source.Host+"/"+at+":v1"), "plan.json")
	s.Mirrored("", s.Docker(""), mirrortest.FromPlan(lock))
	if at = p.Images[0].Repository; at == "" {
		t.Fatal("no repository")
	}
	tag := "sha256-" + root.Digest.Encoded()
	list, err := s.Mirror.Client().Pull(t.Context(), at, tag)
	fail.On(t, err)
	findAndRepair(s, lock, []loss{
		// The attestation and the SBOM have the text of the signature, and are the same manifest.
		{name: "a signature", pushes: 3, lose: func() { s.Delete(at + "/manifests/" + signature.String()) }, words: []string{tag + ".sig", "it is missing"}},
		{name: "a referrer", lose: func() { s.Delete(at + "/manifests/" + bundle.Digest.String()) }, words: []string{bundle.Digest.String(), "it is missing"}},
		{name: "the list of referrers", pushes: 2, lose: func() { s.Delete(at + "/manifests/" + list.Digest.String()) }, words: []string{bundle.Digest.String(), "does not list it as a referrer of " + root.Digest.String()}},
		{name: "the tag", lose: func() { s.PushMirror(at, "v1", "other") }, words: []string{"the tag v1 is missing or names another image"}},
	})
}

// TestNoLoss verifies mirrors whose cluster resources have other forms.
func TestNoLoss(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	lock, p := s.PlanFile(s.Path("imageset.yaml"), "plan.json")
	disk := s.Exported(s.Path("imageset.yaml"), "disk")
	in := func(name string) string { return s.Path("ws-" + name) }
	verifyIn := func(name string) func(*verify.Options) {
		return func(o *verify.Options) {
			if o.Workspace = in(name); name == "flat" {
				o.MaxNestedPaths = 2
			}
		}
	}
	for name, change := range map[string]func(*mirroring.Options){
		"kubernetes": func(o *mirroring.Options) { o.For = "kubernetes" },
		"icsp":       func(o *mirroring.Options) { o.ICSP, o.For = true, "openshift-4.12" },
		"blocked":    func(o *mirroring.Options) { o.MirrorSourcePolicy = "NeverContactSource" },
		"oc-mirror":  func(o *mirroring.Options) { o.Layout = workspace.OCMirrorLayout },
		"named":      func(o *mirroring.Options) { o.ResourceName = "second" },
		"flat":       func(o *mirroring.Options) { o.MaxNestedPaths = 2 },
		"archive":    func(o *mirroring.Options) { o.Plan, o.From = "", []string{disk} },
	} {
		s.Mirrored("", s.Docker(name), mirrortest.FromPlan(lock), change, func(o *mirroring.Options) { o.Workspace = in(name) })
		r := s.Verified("", s.Docker(name), byPlan(lock), verifyIn(name)).Registry
		if r.Resources == nil || r.Resources.Files == 0 || len(r.Resources.Unchecked) > 0 {
			t.Errorf("%s: %+v", name, r.Resources)
		}
	}
	// Two image sets share the mirror, and each is verified alone.
	other := s.Config("other.yaml", "  additionalImages:\n  - name: images.example.net/tools/must-gather:4.20\n    targetRepo: team/one\n")
	s.Mirrored(other, s.Docker("blocked"), func(o *mirroring.Options) { o.Workspace = in("blocked") })
	s.Verified(other, s.Docker("blocked"), verifyIn("blocked"))
	s.Verified("", s.Docker("blocked"), byPlan(lock), verifyIn("blocked"))
	// A repair from the disk, without the sources.
	img := &p.Images[len(p.Images)-1]
	s.Delete("archive/" + img.Repository + "/blobs/" + layerOf(p, img.Digest).String())
	s.Source.ResetLog()
	repairing := func(o *mirroring.Options) { o.RepairMissing = true }
	s.Mirrored("", s.Docker("archive"), repairing, func(o *mirroring.Options) { o.From, o.Workspace = []string{disk}, in("archive") })
	if n := len(s.Source.Log()); n > 0 {
		t.Errorf("%d requests to the source", n)
	}
	s.Verified("", s.Docker("archive"), deep, verifyIn("archive"), func(o *verify.Options) { o.From = []string{disk} })
	r := s.Mirrored("", s.Docker("named"), repairing, mirrortest.FromPlan(lock), func(o *mirroring.Options) { o.Workspace = in("named") })
	if len(r.MissingBefore) > 0 || r.Transfer != nil && r.Transfer.BytesMoved > 0 {
		t.Errorf("%+v, %+v", r.MissingBefore, r.Transfer)
	}
	o := s.MirrorOptions(other, disk)
	o.RepairMissing = true
	_, err := mirroring.Run(t.Context(), o)
	mirrortest.Refused(t, err, advice.Input, "Options.RepairMissing is for docker://")
}

// TestEachLossOfARelease takes from a mirror of releases what it has, and from the files of its clusters, hosts and
// installers.
func TestEachLossOfARelease(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.SmallPlatform(t).Site
	lock, p := s.PlanFile(s.Config("imageset.yaml", "  platform:\n    graph: true\n    channels: [{name: fast-4.20, from: [4.18.1]}]\n"), "plan.json")
	s.Mirrored("", s.Docker(""), mirrortest.FromPlan(lock))
	release := p.Releases[0]
	i := slices.IndexFunc(p.Images, func(img plan.Image) bool { return img.Kind == plan.ComponentImage })
	component := p.Images[i]
	deletes := func(repository string, d digest.Digest) func() {
		return func() { s.Delete(repository + "/manifests/" + d.String()) }
	}
	findAndRepair(s, lock, []loss{
		{name: "a component", lose: deletes(component.Repository, component.Digest), words: []string{component.Source, release.Tag}},
		{name: "a release", lose: deletes(release.Repository, release.Digest), words: []string{"the mirror does not have the release image that it has signatures of"}},
		{name: "graph data", lose: deletes(p.GraphData.Repository, p.GraphData.Digest), words: []string{"the mirror does not have this graph data", "UpdateService"}},
		{
			name: "signatures", lose: func() {
				s.Remove("workspace/cluster-resources/signature-sha256-" + release.Digest.Encoded()[:16] + ".json")
			},
			words: []string{"no ConfigMap has a signature of " + release.Digest.String()}, byResources: true,
		},
		{
			name: "an image set", lose: changes(s, "install/cluster-image-sets/*.yaml", release.Digest.String(), digest.FromString("another").String()),
			words: []string{"install/cluster-image-sets/", "the mirror does not have this image"}, byResources: true,
		},
		{
			name: "a repository for installers", lose: changes(s, "install/install-config.yaml", "/openshift/release\n", "/openshift/other\n"),
			words: []string{"install/install-config.yaml", "has no repository there"}, byResources: true,
		},
		{
			name: "a file for hosts", lose: changes(s, "hosts/containers/registries.conf.d/*.conf", "[[registry]]", "# changed\n[[registry]]"),
			words: []string{"hosts/containers/", "the file was changed since Gantry wrote it"}, byResources: true,
		},
	})
}
