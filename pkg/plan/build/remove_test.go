package build

import (
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
)

// remove removes the bundles of a package from a plan with the catalog of threePackages.
func (w *fixture) remove(p *plan.Plan, packages ...string) *Removed {
	w.t.Helper()
	choice := deletion.Listed(p, func(img *plan.Image) bool {
		return slices.ContainsFunc(img.Reasons, func(r plan.Reason) bool { return slices.Contains(packages, r.Package) })
	})
	r, err := Remove(w.t.Context(), p, choice, w.sources())
	fail.On(w.t, err)
	return r
}

// TestRemove checks that a catalog is built again without a package, that images of other packages stay, and that the
// result is the same again.
func TestRemove(t *testing.T) {
	t.Parallel()
	for name, stanza := range map[string]string{"packages": chosen, "unfiltered": asItIs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := threePackages(t)
			p := w.makePlan(stanza)
			before := p.Catalogs[0].Digest
			r := w.remove(p, "b")
			at := r.Plan.Catalogs[0]
			packages := elements.Map(at.Packages, func(pkg plan.Package) string { return pkg.Name })
			if strings.Join(packages, " ") != "a c" || len(r.Catalogs) != 1 || at.Digest == before || !at.Built {
				t.Errorf("%q in %+v", packages, at)
			}
			for _, img := range r.Plan.Images {
				switch {
				case strings.HasPrefix(img.Source, "quay.io/org/b"):
					t.Errorf("%s is left", img.Source)
				case strings.HasPrefix(img.Source, "quay.io/org/shared") && len(img.Reasons) != 1:
					t.Errorf("%+v", img.Reasons)
				}
			}
			if !slices.ContainsFunc(r.Plan.Images, func(img plan.Image) bool { return strings.HasPrefix(img.Source, "quay.io/org/shared") }) {
				t.Error("the image of another package is gone")
			}
			noted(t, r.Plan.Notes, "the package that provides it")
			if p.Catalogs[0].Digest != before || len(p.Catalogs[0].Packages) != 3 {
				t.Error("the plan was changed")
			}
			if again := w.remove(p, "b"); again.Plan.Catalogs[0].Digest != at.Digest {
				t.Error("the same plan gives another catalog")
			}
			// Bundles that the catalog no longer has do not build it again.
			choice := deletion.Listed(p, func(img *plan.Image) bool { return strings.HasPrefix(img.Source, "quay.io/org/b") })
			if again, err := Remove(t.Context(), r.Plan, choice, w.sources()); err != nil || len(again.Catalogs) > 0 {
				t.Errorf("built again: %+v, %v", again, err)
			}
			// The rest of the packages takes the catalog with it.
			if r = w.remove(r.Plan, "a", "c"); len(r.Plan.Catalogs)+len(r.Plan.Images) > 0 || len(r.Catalogs) > 0 {
				t.Errorf("%+v", r.Plan)
			}
		})
	}
}
