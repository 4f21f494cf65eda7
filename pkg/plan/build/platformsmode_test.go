package build

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// onlyAMD selects one platform, with a smaller index.
const onlyAMD = "platforms: [{os: linux, architecture: amd64}], platformsMode: rewrite"

// indexOf makes an index of descriptors.
func (w *fixture) indexOf(children ...ocispec.Descriptor) ocispec.Descriptor {
	return w.json(ocispec.MediaTypeImageIndex, map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageIndex, "annotations": map[string]string{"a": "b"}, "manifests": children,
	})
}

// on makes an image for a platform.
func (w *fixture) on(arch string, texts ...string) ocispec.Descriptor {
	c := w.image(append(texts, arch)...)
	c.Platform = &ocispec.Platform{OS: "linux", Architecture: arch}
	return c
}

// attestationFor makes the attestation of an image, as buildkit adds it to an index.
func (w *fixture) attestationFor(d digest.Digest) ocispec.Descriptor {
	c := w.image("attestation of " + d.String())
	c.Platform = &ocispec.Platform{OS: "unknown", Architecture: "unknown"}
	c.Annotations = map[string]string{attestationOf: d.String(), "vnd.docker.reference.type": "attestation-manifest"}
	return c
}

// imageOf returns the image of a plan with a source.
func imageOf(t *testing.T, p *plan.Plan, source string) plan.Image {
	t.Helper()
	i := slices.IndexFunc(p.Images, func(img plan.Image) bool { return img.Source == source })
	if i < 0 {
		t.Fatalf("no image %s in the plan", source)
	}
	return p.Images[i]
}

// childrenOf returns the digests in a stored index.
func (w *fixture) childrenOf(d digest.Digest) (all []digest.Digest) {
	w.t.Helper()
	var index ocispec.Index
	fail.On(w.t, json.Unmarshal(w.blobs[d], &index))
	return elements.Map(index.Manifests, func(c ocispec.Descriptor) digest.Digest { return c.Digest })
}

// checkNoSparse checks that a registry which refuses sparse indexes accepts the plan.
func checkNoSparse(t *testing.T, w *fixture, p *plan.Plan) {
	t.Helper()
	present := map[digest.Digest]bool{}
	for _, m := range p.Manifests {
		present[m.Digest] = true
		if m.Sparse {
			t.Errorf("%s is sparse", m.Digest)
		}
	}
	for _, m := range p.Manifests {
		for _, c := range w.childrenOf(m.Digest) {
			if !present[c] {
				t.Errorf("%s names %s, which is not in the plan", m.Digest, c)
			}
		}
	}
}

// rewriteCatalog makes a catalog whose bundle image and operands are indexes. It returns the references of
// the bundle image and of the operand that the bundle names by its digest.
func (w *fixture) rewriteCatalog() (bundle, operand string) {
	bundle = w.push("quay.io/org/op-bundle:v1", w.indexOf(w.on("amd64", "bundle"), w.on("arm64", "bundle")))
	operand = w.push("quay.io/org/operand:v1", w.indexOf(w.on("amd64", "operand"), w.on("arm64", "operand")))
	w.push("quay.io/org/tagged:v1", w.indexOf(w.on("amd64", "tagged"), w.on("arm64", "tagged")))
	w.catalog("/cat", "op", map[string]any{"image": bundle, "relatedImages": related(bundle, operand, "quay.io/org/tagged:v1")})
	return bundle, operand
}

// TestRewriteIndexes plans smaller indexes: bundle images, which the filtered catalog names, and images by
// tag get them, and what the manifests of a bundle name keeps its digest and all platforms. What the
// catalog in the plan names is in the plan.
func TestRewriteIndexes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	bundle, operand := w.rewriteCatalog()
	pinned := w.push("quay.io/org/pinned", w.index("amd64", "s390x"))
	const stanza = "  operators: [{catalog: 'dir:///cat', " + onlyAMD + "}]\n  additionalImages:\n"
	text := stanza + "  - {name: '" + pinned + "', " + onlyAMD + "}\n"
	p := w.makePlan(text)
	checkNoSparse(t, w, p)
	if len(p.Missing) > 0 {
		t.Fatalf("missing: %v", p.Missing)
	}
	small := imageOf(t, p, bundle)
	if small.RewrittenFrom == "" || !strings.HasSuffix(bundle, string(small.RewrittenFrom)) || small.Tags[0] != "v1" && small.Tags[0] != plan.DigestTag(small.Digest) {
		t.Errorf("the bundle image: %+v", small)
	}
	fail.Diff(t, []digest.Digest{w.on("amd64", "bundle").Digest}, w.childrenOf(small.Digest))
	if !bytes.Contains(w.blobs[small.Digest], []byte(`"annotations":{"a":"b"}`)) {
		t.Errorf("fields are lost: %s", w.blobs[small.Digest])
	}
	if img := imageOf(t, p, "quay.io/org/tagged:v1"); img.RewrittenFrom == "" || img.Tags[0] != "v1" {
		t.Errorf("the image by tag: %+v", img)
	}
	for source, why := range map[string]string{
		operand: "the manifests in the image of a bundle name its digest", pinned: "the configuration lists it by its digest",
	} {
		img := imageOf(t, p, source)
		if img.RewrittenFrom != "" || img.NotRewritten != why || !strings.HasSuffix(source, string(img.Digest)) || len(w.childrenOf(img.Digest)) != 2 {
			t.Errorf("%+v, want %q", img, why)
		}
	}
	_, kept, err := readPlanned(t.Context(), p.Catalogs[0], catalog.Options{}, w.sources())
	fail.On(t, err)
	b := kept.Packages[0].Bundles[0]
	want := []string{strings.Replace(bundle, string(small.RewrittenFrom), string(small.Digest), 1), operand, "quay.io/org/tagged:v1"}
	got := []string{b.RelatedImages[0].Image, b.RelatedImages[1].Image, b.RelatedImages[2].Image}
	if b.Image != want[0] || !slices.Equal(got, want) {
		t.Errorf("the catalog names %s and %v, want %v", b.Image, got, want)
	}
	noted(t, p.Notes, "2 images are mirrored with a smaller index", "2 images cannot get a smaller index: ")

	// The same input gives the same bytes, which can be read, and the content is made again elsewhere.
	first := jsonOf(t, p)
	if !bytes.Equal(first, jsonOf(t, w.makePlan(text))) {
		t.Error("the second plan differs")
	}
	reread(t, p)
	delete(w.blobs, small.Digest)
	delete(w.blobs, p.Catalogs[0].Digest)
	if err := RebuildIndex(t.Context(), p, &small, w.sources()); err != nil || w.blobs[small.Digest] == nil {
		t.Errorf("making the index again: %v", err)
	}
	if err := RebuildCatalog(t.Context(), p.Catalogs[0], p.Rewritten(), "", w.sources()); err != nil || w.blobs[p.Catalogs[0].Digest] == nil {
		t.Errorf("making the catalog again: %v", err)
	}
	other := small
	other.Digest = imageOf(t, p, "quay.io/org/tagged:v1").Digest
	if err := RebuildIndex(t.Context(), p, &other, w.sources()); err == nil {
		t.Error("an index of other images was made")
	}

	e := p.Explain(string(small.RewrittenFrom))
	if len(e.Images) != 1 || e.Images[0].Digest != small.Digest {
		t.Errorf("explain of the original digest: %+v", e)
	}
}

// TestRewriteNestedIndexes checks attestations, indexes in indexes, and platforms that the source does not
// have.
func TestRewriteNestedIndexes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	amd, arm := w.on("amd64", "inner"), w.on("arm64", "inner")
	inner := w.indexOf(amd, arm)
	inner.Platform = nil
	root := w.on("amd64", "outer")
	attested, other := w.attestationFor(root.Digest), w.attestationFor(arm.Digest)
	outer := w.indexOf(root, w.on("s390x", "outer"), inner, attested, other)
	w.push("quay.io/org/nested:v1", outer)
	w.push("quay.io/org/nested", inner)
	for _, absent := range []digest.Digest{arm.Digest, w.on("s390x", "outer").Digest} { // the source is sparse
		delete(w.repos["quay.io/org/nested"], absent)
	}
	w.push("quay.io/org/whole:v1", w.indexOf(w.on("amd64", "whole"), w.attestationFor(w.on("amd64", "whole").Digest)))
	single := w.push("quay.io/org/single:v1", w.image("single"))
	text := "  additionalImages:\n  - {name: 'quay.io/org/nested:v1', " + onlyAMD + "}\n  - {name: 'quay.io/org/whole:v1', " + onlyAMD + "}\n  - {name: 'quay.io/org/single:v1', " + onlyAMD + "}\n"
	p := w.makePlan(text)
	checkNoSparse(t, w, p)
	img := imageOf(t, p, "quay.io/org/nested:v1")
	children := w.childrenOf(img.Digest)
	if len(children) != 3 || children[0] != root.Digest || children[2] != attested.Digest || !slices.Equal(w.childrenOf(children[1]), []digest.Digest{amd.Digest}) {
		t.Errorf("the index has %v", children)
	}
	fail.On(t, RebuildIndex(t.Context(), p, &img, w.sources()))
	// Nothing is left out of these, so nothing is rewritten.
	if whole := imageOf(t, p, "quay.io/org/whole:v1"); whole.RewrittenFrom != "" || whole.NotRewritten != "" {
		t.Errorf("%+v", whole)
	}
	if img := imageOf(t, p, "quay.io/org/single:v1"); !strings.HasSuffix(single, string(img.Digest)) {
		t.Errorf("%+v", img)
	}

	// By its digest, all of it is needed, and the source does not have that.
	p = w.makePlan(text + "  - {name: 'quay.io/org/nested@" + string(outer.Digest) + "', " + onlyAMD + "}\n")
	if len(p.Missing) != 2 || !strings.Contains(p.Missing[0].Message, "all its platforms are needed, because the configuration lists it by its digest: ") {
		t.Errorf("missing: %+v", p.Missing)
	}
	_, err := Plan(t.Context(), parseConfig(t, "  additionalImages: [{name: 'quay.io/org/whole:v1', platforms: [{os: linux, architecture: mips}], platformsMode: rewrite}]\n"), "p", w.sources(), Options{})
	says(t, err, "it has no image for linux/mips, only for linux/amd64")
}

// TestSharedIndexesAreNotRewritten checks images that two entries of a configuration name differently.
func TestSharedIndexesAreNotRewritten(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	index := w.index("amd64", "arm64", "s390x")
	ref := w.push("quay.io/org/app:v1", index)
	w.push("quay.io/org/copy:v1", index)
	rewritten := "  additionalImages:\n  - {name: 'quay.io/org/app:v1', " + onlyAMD + "}\n"
	for name, tt := range map[string]struct {
		more, why string
		children  int
	}{
		"another platform":     {"{name: 'quay.io/org/copy:v1', platforms: [{os: linux, architecture: arm64}], platformsMode: rewrite}", "", 2},
		"keeps its digest":     {"{name: 'quay.io/org/copy:v1', platforms: [{os: linux, architecture: amd64}]}", "another entry of the configuration keeps its digest", 3},
		"by digest":            {"{name: '" + ref + "', " + onlyAMD + "}", "the configuration lists it by its digest", 3},
		"with every platform":  {"{name: 'quay.io/org/copy:v1'}", "", 3},
		"by digest, all of it": {"{name: '" + ref + "'}", "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			p := w.makePlan(rewritten + "  - " + tt.more + "\n")
			checkNoSparse(t, w, p)
			for _, img := range p.Images {
				if img.NotRewritten != tt.why || (img.RewrittenFrom != "") != (tt.children == 2) || len(w.childrenOf(img.Digest)) != tt.children {
					t.Errorf("%+v", img)
				}
			}
		})
	}
}

// TestRewrittenIndexesLoseSignatures checks that what signs the original index stays out of the mirror and is
// listed, and that signatures of the images in it stay.
func TestRewrittenIndexesLoseSignatures(t *testing.T) {
	t.Parallel()
	w := newSignedFixture(t, true)
	amd := w.on("amd64", "app")
	index := w.indexOf(amd, w.on("arm64", "app"))
	w.push(signedRepo+":v1", index)
	w.sign(signedRepo, index.Digest, ".sig")
	w.sign(signedRepo, amd.Digest, ".sig")
	bundle := w.referrer(signedRepo, index.Digest, "bundle")
	w.list(signedRepo, index.Digest, bundle)
	p := w.plan("  additionalImages: [{name: '" + signedRepo + ":v1', " + onlyAMD + "}]\n")
	want := []string{"signature " + tagName(strings.SplitN(signedRepo, "/", 2)[1], amd.Digest, ".sig")}
	fail.Diff(t, want, attached(p))
	note := signedRepo + ":v1 has a smaller index: 2 signatures and other referrers cover only the original " + string(index.Digest) + "; left out: "
	if i := slices.IndexFunc(p.Notes, func(n string) bool { return strings.HasPrefix(n, note) }); i < 0 ||
		!strings.Contains(p.Notes[i], tagName(signedRepo, index.Digest, ".sig")) || !strings.Contains(p.Notes[i], string(bundle.Digest)) {
		t.Errorf("notes: %q", p.Notes)
	}
	fail.Diff(t, 1, w.requests["pages"])
}
