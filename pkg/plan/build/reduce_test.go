package build

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

const cutIndex = "quay.io/cat/index:v1"

// threePackages is a fixture with a catalog image of three packages: "a" and "b" share an image, and
// "c" depends on "b".
func threePackages(t *testing.T) *fixture {
	w := newFixture(t)
	shared := w.push("quay.io/org/shared", w.image("base", "shared"))
	w.push("quay.io/org/b-operand:v1", w.image("base", "b operand"))
	w.catalog("/a", "a", map[string]any{"image": w.push("quay.io/org/a", w.image("a")), "relatedImages": related(shared)})
	w.catalog("/b", "b", map[string]any{"image": w.push("quay.io/org/b", w.image("b")), "relatedImages": related(shared, "quay.io/org/b-operand:v1")})
	w.catalog("/c", "c", map[string]any{"image": w.push("quay.io/org/c", w.image("c"))})
	text := ""
	for _, dir := range []string{"/a", "/b", "/c"} {
		raw, err := w.files[dir].(fstest.MapFS).ReadFile("catalog.json")
		fail.On(t, err)
		text += string(raw)
	}
	text = strings.Replace(text, `"properties":[{"type":"olm.package","value":{"packageName":"c"`,
		`"properties":[{"type":"olm.package.required","value":{"packageName":"b","versionRange":">=1.0.0"}},{"type":"olm.package","value":{"packageName":"c"`, 1)
	w.files["/all"] = fstest.MapFS{"catalog.json": {Data: []byte(text)}}
	whole := w.makePlan("  operators: [{catalog: 'dir:///all', full: true}]\n")
	w.push(cutIndex, ocispec.Descriptor{Digest: whole.Catalogs[0].Digest})
	return w
}

func (w *fixture) reduce(p *plan.Plan) *plan.Reduced {
	w.t.Helper()
	r, err := Reduce(w.t.Context(), p, w.sources())
	fail.On(w.t, err)
	return r
}

// lose returns the plan without the image from that source.
func (w *fixture) lose(p *plan.Plan, source string) *plan.Plan {
	w.t.Helper()
	for _, img := range p.Images {
		if strings.HasPrefix(img.Source, source) {
			q, err := p.Without([]plan.FailedImage{{Source: img.Source, Repository: img.Repository, Err: errors.New("unavailable")}})
			fail.On(w.t, err)
			return q
		}
	}
	w.t.Fatalf("no image of the plan is %s", source)
	return nil
}

const (
	chosen = "  operators: [{catalog: '" + cutIndex + "', packages: [{name: a}, {name: b}, {name: c}]}]\n"
	asItIs = "  operators: [{catalog: '" + cutIndex + "', full: true}]\n"
)

func TestReduce(t *testing.T) {
	for name, stanza := range map[string]string{"chosen": chosen, "as it is": asItIs} {
		t.Run(name, func(t *testing.T) {
			w := threePackages(t)
			p := w.makePlan(stanza)
			r := w.reduce(w.lose(p, "quay.io/org/b-operand:v1"))
			got := r.Plan
			if diff := cmp.Diff([]string{cutIndex}, r.Catalogs); diff != "" || len(r.NotReduced) > 0 {
				t.Fatalf("rebuilt: %s; not rebuilt: %v", diff, r.NotReduced)
			}
			want := w.makePlan(strings.Replace(chosen, "{name: b}, ", "", 1))
			fail.Diff(t, names(want), names(got))
			c := got.Catalogs[0]
			if c.Digest != want.Catalogs[0].Digest || !c.Built || c.Digest == p.Catalogs[0].Digest {
				t.Errorf("the catalog is %s, want the digest without b in the configuration: %s", c.Digest, want.Catalogs[0].Digest)
			}
			fail.Diff(t, want.Manifests, got.Manifests)
			fail.Diff(t, want.Blobs, got.Blobs)
			fail.Diff(t, []plan.Excluded{{Package: "b", Images: []string{"quay.io/org/b-operand:v1"}}}, c.Excluded)
			fail.Diff(t, 0, len(got.Missing))
			if c.Packages[0].Name != "a" || c.Packages[1].Name != "c" || len(c.Packages) != 2 {
				t.Errorf("packages: %+v", c.Packages)
			}
			for _, img := range got.Images {
				if slices.ContainsFunc(img.Reasons, func(b plan.Reason) bool { return b.Package == "b" }) {
					t.Errorf("%s is there because of b: %v", img.Source, img.Reasons)
				}
			}
			noted(t, got.Notes, "package b is excluded: 1 image is missing: quay.io/org/b-operand:v1", `c.v1.0.0" of `+cutIndex)
		})
	}
}

// TestReduceOfMissingImages checks that images that were missing when the plan was made have the
// same effect as images that fail later.
func TestReduceOfMissingImages(t *testing.T) {
	w := threePackages(t)
	want := w.reduce(w.lose(w.makePlan(chosen), "quay.io/org/b-operand:v1")).Plan
	delete(w.tags, "quay.io/org/b-operand:v1")
	got := w.reduce(w.makePlan(chosen)).Plan
	fail.Diff(t, string(jsonOf(t, want)), string(jsonOf(t, got)))
}

// TestReducedPlan checks that a reduced plan can be read back, rebuilt in another workspace and
// used for Reselect.
func TestReducedPlan(t *testing.T) {
	for name, stanza := range map[string]string{"chosen": chosen, "as it is": asItIs, "a folder": "  operators: [{catalog: 'dir:///all', full: true}]\n"} {
		t.Run(name, func(t *testing.T) {
			w := threePackages(t)
			p := reread(t, w.reduce(w.lose(w.makePlan(stanza), "quay.io/org/b-operand:v1")).Plan)
			for d := range maps.Clone(w.built) {
				if d != w.tags[cutIndex] {
					delete(w.built, d)
				}
			}
			fail.On(t, RebuildCatalog(t.Context(), p.Catalogs[0], nil, "", w.sources()))
			if !w.built[p.Catalogs[0].Digest] {
				t.Error("the image was not built")
			}
			s, err := Reselect(t.Context(), p, w.sources(), Options{})
			fail.On(t, err)
			var kept []string
			for _, pkg := range s.Catalogs[0].Result.Catalog.Packages {
				kept = append(kept, pkg.Name)
			}
			fail.Diff(t, []string{"a", "c"}, kept)
			// Reduce the plan once more; after that there is nothing left to exclude.
			less := w.reduce(w.lose(p, "quay.io/org/c@")).Plan
			if c := less.Catalogs[0]; len(c.Excluded) != 2 || len(c.Packages) != 1 {
				t.Errorf("excluded: %+v", c.Excluded)
			}
			if again := w.reduce(less); again.Plan != less || len(again.Catalogs) != 0 {
				t.Error("a plan without missing images was reduced")
			}
			fail.On(t, RebuildCatalog(t.Context(), less.Catalogs[0], nil, "", w.sources()))
		})
	}
}

func TestReduceNotPossible(t *testing.T) {
	w := threePackages(t)
	p := w.makePlan(chosen)
	t.Run("nothing is left", func(t *testing.T) {
		lost := w.lose(w.lose(p, "quay.io/org/shared"), "quay.io/org/c@")
		r := w.reduce(lost)
		if r.Plan != lost || len(r.Catalogs) != 0 || !strings.Contains(r.NotReduced[cutIndex], "each of its packages") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("it cannot be read", func(t *testing.T) {
		lost := w.lose(p, "quay.io/org/b-operand:v1")
		broken := newFixture(t)
		r, err := Reduce(t.Context(), lost, broken.sources())
		if err != nil || r.Plan != lost || !strings.Contains(r.NotReduced[cutIndex], "cannot be read") {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("the end of the run", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := errors.New("ended")
		cancel(ended)
		if _, err := Reduce(ctx, w.lose(p, "quay.io/org/b-operand:v1"), w.sources()); !errors.Is(err, ended) {
			t.Error(err)
		}
	})
}

// TestReduceKeepsListedImages checks that an image that the configuration lists too stays missing,
// and that one that only the configuration lists affects no catalog.
func TestReduceKeepsListedImages(t *testing.T) {
	w := threePackages(t)
	p := w.makePlan(chosen + "  additionalImages: [{name: 'quay.io/org/b-operand:v1'}]\n")
	r := w.reduce(w.lose(p, "quay.io/org/b-operand:v1"))
	if len(r.Plan.Missing) != 1 || len(r.Plan.Missing[0].Reasons) != 1 || r.Plan.Missing[0].Reasons[0].List != "additionalImages" {
		t.Errorf("missing: %+v", r.Plan.Missing)
	}
	p = w.makePlan(asItIs + "  additionalImages: [{name: 'quay.io/org/b-operand:v1', targetRepo: extra/image}]\n")
	for _, img := range p.Images {
		if img.Repository == "extra/image" {
			lost, err := p.Without([]plan.FailedImage{{Source: img.Source, Repository: img.Repository, Err: errors.New("gone")}})
			fail.On(t, err)
			if r := w.reduce(lost); len(r.Catalogs) != 0 || len(lost.Missing) != 1 {
				t.Errorf("%+v", r)
			}
		}
	}
}

// TestReduceOneOfTwoCatalogs checks that two catalogs from the same source are reduced separately.
func TestReduceOneOfTwoCatalogs(t *testing.T) {
	w := threePackages(t)
	p := w.makePlan("  operators:\n  - {catalog: '" + cutIndex + "', targetTag: left, packages: [{name: a}, {name: b}]}\n" +
		"  - {catalog: '" + cutIndex + "', targetTag: right, packages: [{name: a}]}\n")
	r := w.reduce(w.lose(p, "quay.io/org/b-operand:v1"))
	fail.Diff(t, []string{cutIndex + " as :left"}, r.Catalogs)
	left, right := r.Plan.Catalogs[0], r.Plan.Catalogs[1]
	if left.Digest != right.Digest || right.Digest != p.Catalogs[1].Digest || left.Tag != "left" || len(right.Excluded) != 0 {
		t.Errorf("%+v\n%+v", left, right)
	}
}

func TestWithoutCatalogImage(t *testing.T) {
	w := threePackages(t)
	p := w.makePlan(chosen)
	before := string(jsonOf(t, p))
	q := w.lose(p, cutIndex)
	if len(q.Catalogs) != 0 || len(q.Images) != len(p.Images)-1 || q.Missing[0].Kind != plan.CatalogImage {
		t.Errorf("%+v", q)
	}
	if r := w.reduce(q); r.Plan != q {
		t.Error("a plan with nothing to reduce was reduced")
	}
	if text := string(jsonOf(t, p)); text != before {
		t.Error("the plan was changed")
	}
	reread(t, q)
}

// TestReduceIgnoresWithheldCatalogs checks that a package of a withheld catalog does not count as
// excluded for the packages that depend on it.
func TestReduceIgnoresWithheldCatalogs(t *testing.T) {
	w := threePackages(t)
	const other = "quay.io/cat/other:v1"
	only := w.makePlan("  operators: [{catalog: 'dir:///b', full: true}]\n")
	w.push(other, ocispec.Descriptor{Digest: only.Catalogs[0].Digest})
	p := w.makePlan("  operators: [{catalog: '" + cutIndex + "', packages: [{name: a}, {name: c}]}, {catalog: '" + other + "', full: true}]\n")
	for _, tc := range []struct {
		lost string
		kept []string // catalogs
	}{
		{"quay.io/org/b@", []string{other}},
		{"quay.io/org/a@", nil},
	} {
		lost := w.lose(p, tc.lost)
		if tc.kept != nil {
			lost = w.lose(lost, "quay.io/org/a@")
		}
		r := w.reduce(lost)
		if diff := cmp.Diff(tc.kept, slices.Collect(maps.Keys(r.NotReduced))); diff != "" || len(r.Catalogs) != 1 {
			t.Fatalf("not rebuilt: %s; rebuilt: %v", diff, r.Catalogs)
		}
		if i := slices.IndexFunc(r.Plan.Notes, func(n string) bool { return strings.Contains(n, "the package that provides it is excluded") }); i >= 0 {
			t.Errorf("without %s: %s", tc.lost, r.Plan.Notes[i])
		}
	}
}
