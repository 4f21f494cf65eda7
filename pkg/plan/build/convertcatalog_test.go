package build

import (
	"maps"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestConvertedCatalogs converts catalogs that are built, also because a bundle was converted, and reduced ones.
func TestConvertedCatalogs(t *testing.T) {
	t.Parallel()
	for name, stanza := range map[string]string{"chosen": chosen, "as it is": asItIs, "a folder": "  operators: [{catalog: 'dir:///all', full: true}]\n"} {
		t.Run(name, func(t *testing.T) {
			w := threePackages(t)
			p, _, err := w.planIn(stanza, w.sources(), manifest.Docker)
			fail.On(t, err)
			checkDocker(t, w, p)
			less := reread(t, w.reduce(w.lose(p, "quay.io/org/b-operand:v1")).Plan)
			checkDocker(t, w, less)
			if !p.Catalogs[0].Built || less.Catalogs[0].Digest == p.Catalogs[0].Digest {
				t.Fatalf("%+v", less.Catalogs[0])
			}
			for d := range maps.Clone(w.built) {
				if d != w.tags[cutIndex] {
					delete(w.built, d)
				}
			}
			for _, of := range []*plan.Plan{p, less} {
				if err := RebuildCatalog(t.Context(), of.Catalogs[0], of.Rewritten(), of.Format, w.sources()); err != nil || !w.built[of.Catalogs[0].Digest] {
					t.Errorf("building the catalog again: %v", err)
				}
			}
		})
	}
}

// TestConvertedOriginalCatalog converts the image of a catalog from which nothing is left out and whose bundles
// have the format already.
func TestConvertedOriginalCatalog(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.catalog("/cat", "op", map[string]any{"image": w.push("quay.io/org/op-bundle", w.dockerImage("bundle"))})
	whole := w.makePlan("  operators: [{catalog: 'dir:///cat', full: true}]\n")
	original := whole.Catalogs[0].Digest
	w.push(cutIndex, ocispec.Descriptor{Digest: original})
	p, _, err := w.planIn(asItIs, w.sources(), manifest.Docker)
	fail.On(t, err)
	checkDocker(t, w, p)
	img := imageOf(t, p, cutIndex)
	if c := p.Catalogs[0]; c.Built || c.SourceDigest != original || c.Digest != img.Digest || img.Digest == original || img.RewrittenFrom != original || img.NamedBy != "" {
		t.Fatalf("%+v, %+v", c, img)
	}
	if _, _, err := readPlanned(t.Context(), p.Catalogs[0], catalog.Options{}, w.sources()); err != nil {
		t.Error(err)
	}
	delete(w.blobs, img.Digest)
	if err := RebuildIndex(t.Context(), p, &img, w.sources()); err != nil || w.blobs[img.Digest] == nil {
		t.Errorf("converting it again: %v", err)
	}
	_, err = Reselect(t.Context(), p, w.sources(), Options{})
	fail.On(t, err)
}
