package build

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestPlatformsAreNotShared checks that adding platforms to one image does not change the platforms
// of others. The images of a catalog share one list of platforms.
func TestPlatformsAreNotShared(t *testing.T) {
	w := newFixture(t)
	a := w.push("quay.io/org/a:v1", w.index("amd64", "arm64", "ppc64le", "s390x", "riscv64"))
	b := w.push("quay.io/org/b:v1", w.index("riscv64", "s390x", "ppc64le", "arm64", "amd64"))
	w.catalog("/cat", "op", map[string]any{"image": w.push("quay.io/org/op", w.index("amd64", "arm64", "ppc64le")), "relatedImages": related(a, b)})
	p := w.makePlan(`  operators:
  - catalog: dir:///cat
    platforms: [{os: linux, architecture: amd64}, {os: linux, architecture: arm64}, {os: linux, architecture: ppc64le}]
  additionalImages:
  - {name: '` + a + `', platforms: [{os: linux, architecture: s390x}]}
  - {name: '` + b + `', platforms: [{os: linux, architecture: riscv64}]}
`)
	arches := map[string][]string{}
	for _, img := range p.Images {
		if img.Kind == plan.CatalogImage {
			continue
		}
		c, err := p.Contents()
		fail.On(t, err)
		m, _ := c.Manifest(img.Digest)
		var index ocispec.Index
		fail.On(t, json.Unmarshal(w.blobs[img.Digest], &index))
		for _, child := range index.Manifests {
			if slices.Contains(m.Manifests, child.Digest) {
				arches[img.Repository] = append(arches[img.Repository], child.Platform.Architecture)
			}
		}
		slices.Sort(arches[img.Repository])
	}
	want := map[string][]string{
		"org/op": {"amd64", "arm64", "ppc64le"},
		"org/a":  {"amd64", "arm64", "ppc64le", "s390x"},
		"org/b":  {"amd64", "arm64", "ppc64le", "riscv64"},
	}
	fail.Diff(t, want, arches)
}

func TestFoldersWithOneName(t *testing.T) {
	w := newFixture(t)
	for _, dir := range []string{"/a/cat", "/b/cat", "/c/cat"} {
		w.catalog(dir, "op"+dir[1:2], map[string]any{"image": w.push("quay.io/org/op", w.image(dir))})
	}
	p := w.makePlan("  operators: [{catalog: dir:///a/cat}, {catalog: dir:///b/cat}, {catalog: dir:///c/cat}]\n")
	targets := map[string]bool{}
	for _, c := range p.Catalogs {
		targets[c.Repository+":"+c.Tag] = true
	}
	fail.Diff(t, 3, len(targets))
}

// TestCatalogListedAsImage checks that a catalog that is also listed as an image is one image, of
// kind CatalogImage.
func TestCatalogListedAsImage(t *testing.T) {
	w := newFixture(t)
	w.catalog("/cat", "op", map[string]any{"image": w.push("quay.io/org/op", w.image("b"))})
	first := w.makePlan("  operators: [{catalog: dir:///cat}]\n")
	built := ""
	for _, img := range first.Images {
		if img.Kind == plan.CatalogImage {
			built = img.Digest.String()
		}
	}
	w.push("quay.io/org/cat:v1", ocispec.Descriptor{Digest: first.Catalogs[0].Digest})
	p := w.makePlan("  operators: [{catalog: 'quay.io/org/cat:v1', full: true}]\n  additionalImages: [{name: 'quay.io/org/cat:v1'}]\n")
	var kinds []plan.ImageKind
	for _, img := range p.Images {
		if img.Digest.String() == built {
			kinds = append(kinds, img.Kind)
			if img.Catalog != "quay.io/org/cat:v1" || len(img.Reasons) != 2 {
				t.Errorf("the image: %+v", img)
			}
		}
	}
	fail.Diff(t, []plan.ImageKind{plan.CatalogImage}, kinds)
}

// TestDigestInOneOfTwoRepositories checks that an image is found if only one of two repositories
// has its digest, whichever is asked first.
func TestDigestInOneOfTwoRepositories(t *testing.T) {
	for range 20 {
		w := newFixture(t)
		here := w.push("quay.io/org/here", w.image("x"))
		there := strings.Replace(here, "org/here", "org/gone", 1)
		w.catalog("/cat", "op", map[string]any{"image": w.push("quay.io/org/op", w.image("b")), "relatedImages": related(here, there)})
		if p := w.makePlan("  operators: [{catalog: dir:///cat}]\n"); len(p.Missing) > 0 {
			t.Fatalf("missing: %+v", p.Missing)
		}
	}
}

func TestPlatformsInsideAnInnerIndex(t *testing.T) {
	w := newFixture(t)
	inner, other := w.index("amd64", "arm64"), w.index("s390x")
	outer := w.json(ocispec.MediaTypeImageIndex, map[string]any{"mediaType": ocispec.MediaTypeImageIndex, "manifests": []any{inner, other}})
	w.push("quay.io/org/nested", inner)
	w.push("quay.io/org/nested", other)
	w.push("quay.io/org/nested:v1", outer)
	p := w.makePlan("  additionalImages: [{name: 'quay.io/org/nested:v1', platforms: [{os: linux, architecture: arm64}]}]\n")
	fail.Diff(t, 3, p.Totals.Manifests)
}
