package sbom_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/sbom"
)

// A cyclone is what the tests read of CycloneDX.
type cyclone struct {
	BOMFormat, SpecVersion, SerialNumber string
	Version                              int
	Metadata                             struct {
		Timestamp string
		Component component
	}
	Components   []component
	Dependencies []struct {
		Ref       string
		DependsOn []string
	}
}

type component struct {
	Type, Name, Version, PURL string
	Ref                       string `json:"bom-ref"`
	Hashes                    []struct{ Alg, Content string }
	ExternalReferences        []struct{ Type, URL string }
}

// An spdx is what the tests read of SPDX.
type spdx struct {
	SPDXVersion, DataLicense, SPDXID, Name, DocumentNamespace string
	CreationInfo                                              struct {
		Created  string
		Creators []string
	}
	Packages []struct {
		SPDXID, Name, DownloadLocation, PrimaryPackagePurpose string
		Checksums                                             []struct{ Algorithm, ChecksumValue string }
		ExternalRefs                                          []struct{ ReferenceCategory, ReferenceType, ReferenceLocator string }
	}
	Relationships []struct{ SpdxElementID, RelationshipType, RelatedSpdxElement string }
}

// plans returns plans of every kind of content.
func plans(t *testing.T) map[string]*plan.Plan {
	t.Helper()
	files, err := filepath.Glob("../build/testdata/golden/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no plans", err)
	}
	all := map[string]*plan.Plan{"signed": signed(t)}
	for _, file := range files {
		text, err := os.ReadFile(file)
		fail.On(t, err)
		p, err := plan.Read(bytes.NewReader(text))
		fail.On(t, err)
		all[filepath.Base(file)] = p
	}
	return all
}

const (
	app  = digest.Digest("sha256:1111111111111111111111111111111111111111111111111111111111111111")
	att  = digest.Digest("sha256:2222222222222222222222222222222222222222222222222222222222222222")
	blob = digest.Digest("sha256:3333333333333333333333333333333333333333333333333333333333333333")
)

// signed returns a plan of an image with a bill of materials.
func signed(t *testing.T) *plan.Plan {
	t.Helper()
	oci := "application/vnd.oci.image.manifest.v1+json"
	p := &plan.Plan{Kind: plan.Kind, Version: plan.Version, Name: "signed", Images: []plan.Image{
		{Source: "quay.io:8443/vendor/app:v1", Kind: plan.AdditionalImage, Digest: app, Repository: "vendor/app", Tags: []string{"v1"}, Size: 2, Reasons: []plan.Reason{{List: "additionalImages"}}},
		{Source: "quay.io:8443/vendor/app:sha256-1.sbom", Kind: plan.SBOMImage, Subject: app, Digest: att, Repository: "vendor/app", Tags: []string{"sha256-1.sbom"}, Size: 2, Reasons: []plan.Reason{{List: "signatures"}}},
	}, Missing: []plan.Missing{{Source: "quay.io/vendor/gone:v1", Kind: plan.AdditionalImage, Message: "gone"}},
		Manifests: []plan.Manifest{{Digest: app, MediaType: oci, Size: 1, Blobs: []digest.Digest{blob}}, {Digest: att, MediaType: oci, Size: 1, Blobs: []digest.Digest{blob}}}, Blobs: []plan.Blob{{Digest: blob, Size: 1}}}
	p.Totals = p.Count()
	return p
}

// purl is the grammar of the package URLs that are written.
var purl = regexp.MustCompile(`^pkg:oci/[a-z0-9._-]+@sha256%3A[0-9a-f]{64}(\?repository_url=[a-z0-9._%A-F/-]+(&tag=[A-Za-z0-9._-]+)?)?$`)

func TestCycloneDX(t *testing.T) {
	t.Parallel()
	types := []string{"application", "container", "data", "file", "platform"} // of those that the schema of 1.6 lists
	for name, p := range plans(t) {
		var text, again bytes.Buffer
		if err := sbom.CycloneDX(&text, p, sbom.Options{Version: "v1"}); err != nil {
			t.Fatal(name, err)
		}
		if err := sbom.CycloneDX(&again, p, sbom.Options{Version: "v1"}); err != nil || text.String() != again.String() {
			t.Errorf("%s: the second document differs: %v", name, err)
		}
		var d cyclone
		if err := json.Unmarshal(text.Bytes(), &d); err != nil {
			t.Fatal(name, err)
		}
		if d.BOMFormat != "CycloneDX" || d.SpecVersion != "1.6" || d.Version != 1 || d.Metadata.Timestamp != "" ||
			!regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`).MatchString(d.SerialNumber) {
			t.Errorf("%s: %.400s", name, text.String())
		}
		known, images := map[string]bool{d.Metadata.Component.Ref: true}, 0
		for _, c := range d.Components {
			if known[c.Ref] || c.Name == "" || !slices.Contains(types, c.Type) {
				t.Errorf("%s: %+v", name, c)
			}
			known[c.Ref] = true
			if c.Type != "container" {
				continue
			}
			images++
			if !purl.MatchString(c.PURL) || len(c.Hashes) != 1 || c.Hashes[0].Alg != "SHA-256" || "sha256:"+c.Hashes[0].Content != c.Version {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if images != len(p.Images) {
			t.Errorf("%s: %d of %d images", name, images, len(p.Images))
		}
		needed := map[string]bool{}
		for _, r := range d.Dependencies {
			for _, other := range r.DependsOn {
				needed[other] = true
				if !known[r.Ref] || !known[other] || other == r.Ref {
					t.Errorf("%s: %s needs %s", name, r.Ref, other)
				}
			}
		}
		for _, c := range d.Components {
			if !needed[c.Ref] && !strings.Contains(text.String(), " "+c.Ref+`",`) {
				t.Errorf("%s: nothing needs %+v", name, c)
			}
		}
	}
}

func TestSPDX(t *testing.T) {
	t.Parallel()
	id, namespace := regexp.MustCompile(`^SPDXRef-[a-zA-Z0-9.-]+$`), map[string]bool{}
	purposes := []string{"OTHER", "APPLICATION", "OPERATING_SYSTEM", "FILE", "CONTAINER"}
	relations := []string{"DESCRIBES", "CONTAINS", "DEPENDS_ON", "METAFILE_OF"}
	for name, p := range plans(t) {
		var text bytes.Buffer
		if err := sbom.SPDX(&text, p, sbom.Options{Created: time.Unix(1700000000, 0)}); err != nil {
			t.Fatal(name, err)
		}
		var d spdx
		if err := json.Unmarshal(text.Bytes(), &d); err != nil {
			t.Fatal(name, err)
		}
		if d.SPDXVersion != "SPDX-2.3" || d.DataLicense != "CC0-1.0" || d.SPDXID != "SPDXRef-DOCUMENT" || d.CreationInfo.Created != "2023-11-14T22:13:20Z" || namespace[d.DocumentNamespace] {
			t.Errorf("%s: %.400s", name, text.String())
		}
		namespace[d.DocumentNamespace] = true
		known, images := map[string]bool{d.SPDXID: true}, 0
		for _, one := range d.Packages {
			if known[one.SPDXID] || !id.MatchString(one.SPDXID) || one.DownloadLocation == "" || !slices.Contains(purposes, one.PrimaryPackagePurpose) {
				t.Errorf("%s: %+v", name, one)
			}
			known[one.SPDXID] = true
			if one.PrimaryPackagePurpose == "CONTAINER" {
				images++
				if len(one.Checksums) != 1 || len(one.ExternalRefs) != 1 || !purl.MatchString(one.ExternalRefs[0].ReferenceLocator) {
					t.Errorf("%s: %+v", name, one)
				}
			}
		}
		if images != len(p.Images) {
			t.Errorf("%s: %d of %d images", name, images, len(p.Images))
		}
		for _, r := range d.Relationships {
			if !known[r.SpdxElementID] || !known[r.RelatedSpdxElement] || !slices.Contains(relations, r.RelationshipType) {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

// A bill of materials that is mirrored with an image is referenced by the image. What is missing is named.
func TestAttached(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	fail.On(t, sbom.CycloneDX(&text, signed(t), sbom.Options{}))
	for _, want := range []string{
		`"type": "bom",`, `"url": "pkg:oci/app@sha256%3A2222222222222222222222222222222222222222222222222222222222222222?repository_url=quay.io%3A8443/vendor/app&tag=sha256-1.sbom"`,
		`"name": "gantry:missing",`, `"value": "quay.io/vendor/gone:v1"`,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s is missing:\n%s", want, text.String())
		}
	}
}
