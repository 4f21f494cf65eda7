package plan

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
)

// addNeeds adds what the kept bundles need and no kept bundle gives, and what
// that needs in turn, until nothing is left to add. The notes say what nobody
// provides.
func addNeeds(ctx context.Context, read []*taken, log *slog.Logger) ([]string, error) {
	var added []resolve.Addition
	for {
		sides := make([]resolve.Catalog, len(read))
		for i, t := range read {
			sides[i] = resolve.Catalog{
				Name: t.entry.Name(), Priority: t.priority(), Wanted: t.op.Dependencies, Kept: t.result.Catalog, Whole: t.whole,
			}
		}
		needs := resolve.Needs(sides, added)
		if len(needs.Additions) == 0 {
			var notes []string
			for _, u := range needs.Unmet {
				notes = append(notes, u.String())
			}
			return notes, nil
		}
		added = append(added, needs.Additions...)
		more := map[string][]filter.Required{}
		for _, a := range needs.Additions {
			log.Info("adding a dependency", "catalog", a.Catalog, "bundle", a.Bundle, "for", a.For[0].Asker())
			more[a.Catalog] = append(more[a.Catalog], filter.Required{Package: a.Package, Channel: a.Channel, Bundle: a.Bundle, For: askers(a.For)})
		}
		err := each(ctx, len(read), func(ctx context.Context, i int) error {
			return read[i].require(ctx, more[read[i].entry.Name()])
		})
		if err != nil {
			return nil, err
		}
	}
}

// lacks are notes on what kept bundles need and nothing that is kept provides,
// where nobody asked for dependencies.
func lacks(read []*taken) []string {
	sides := make([]resolve.Catalog, len(read))
	for i, t := range read {
		sides[i] = resolve.Catalog{Name: t.entry.Name(), Priority: t.priority(), Wanted: true, Kept: t.result.Catalog, Whole: t.result.Catalog}
	}
	var notes []string
	for _, u := range resolve.Needs(sides, nil).Unmet {
		notes = append(notes, u.Need.String()+": nothing that is kept provides it; name its package, or set dependencies: true")
	}
	return notes
}

// askers names those who need something: the first, and how many more.
func askers(needs []resolve.Need) string {
	text := needs[0].Asker()
	if n := len(needs) - 1; n > 0 {
		text += " and " + count(n, "other need", "other needs")
	}
	return text
}

// priority is that of the CatalogSource that the mirror gets, which a template
// may set.
func (r *taken) priority() int {
	var template struct {
		Spec struct {
			Priority int `json:"priority"`
		} `json:"spec"`
	}
	// What is wrong with a template is said where it is filled in.
	_ = yaml.Unmarshal([]byte(r.entry.Template), &template)
	return template.Spec.Priority
}

// require adds what others need, and reads the packages that are known by their
// outlines alone.
func (r *taken) require(ctx context.Context, more []filter.Required) error {
	if len(more) == 0 {
		return nil
	}
	r.required = append(r.required, more...)
	if slices.ContainsFunc(more, func(q filter.Required) bool { return r.whole.Package(q.Package) == nil }) {
		if err := r.read(ctx); err != nil {
			return err
		}
	}
	if err := r.filter(); err != nil {
		return fmt.Errorf("adding dependencies: %w", err)
	}
	return nil
}
