package site

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// NamesMissing returns the catalogs and releases of a plan that name missing images. They are
// withheld at every destination.
func NamesMissing(p *plan.Plan) []plan.Publishable {
	var all []plan.Publishable
	for _, m := range p.Missing {
		for _, b := range m.Reasons {
			if w, ok := b.Publishable(); ok && !slices.Contains(all, w) && p.Has(w) {
				all = append(all, w)
			}
		}
	}
	return all
}
