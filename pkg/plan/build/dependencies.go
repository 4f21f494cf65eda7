package build

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
)

// addDependencies adds the bundles that selected bundles require, and their own requirements in turn.
// It returns the requirements that no catalog meets.
func addDependencies(ctx context.Context, catalogs []*selectedCatalog, log *slog.Logger) ([]resolve.Unsatisfied, error) {
	var added []resolve.Addition
	for {
		sides := make([]resolve.Catalog, len(catalogs))
		for i, t := range catalogs {
			sides[i] = resolve.Catalog{
				Name: t.entry.Name(), Priority: t.priority(), Wanted: t.op.Dependencies, Kept: t.result.Catalog, Original: t.full,
			}
		}
		needs := resolve.Dependencies(sides, added)
		if len(needs.Additions) == 0 {
			return needs.Unsatisfied, nil
		}
		added = append(added, needs.Additions...)
		more := map[string][]filter.Required{}
		for _, a := range needs.Additions {
			log.Info("adding a dependency", "catalog", a.Catalog, "bundle", a.Bundle, "for", a.For[0].Dependents())
			more[a.Catalog] = append(more[a.Catalog], filter.Required{Package: a.Package, Channel: a.Channel, Bundle: a.Bundle, For: askers(a.For)})
		}
		err := each(ctx, len(catalogs), func(ctx context.Context, i int) error {
			return catalogs[i].require(ctx, more[catalogs[i].entry.Name()])
		})
		if err != nil {
			return nil, err
		}
	}
}

// unmetDependencies returns the requirements that no selected bundle meets, if the configuration does not ask for dependencies.
func unmetDependencies(catalogs []*selectedCatalog) []resolve.Unsatisfied {
	sides := make([]resolve.Catalog, len(catalogs))
	for i, t := range catalogs {
		sides[i] = resolve.Catalog{Name: t.entry.Name(), Priority: t.priority(), Wanted: true, Kept: t.result.Catalog, Original: t.result.Catalog}
	}
	unmet := resolve.Dependencies(sides, nil).Unsatisfied
	for i := range unmet {
		unmet[i].Reason = "no selected bundle provides it; add its package, or set dependencies: true"
	}
	return unmet
}

// askers names the first bundle with a requirement, and the number of others.
func askers(needs []resolve.Dependency) string {
	text := needs[0].Dependents()
	if n := len(needs) - 1; n > 0 {
		text += " and " + count(n, "other need", "other needs")
	}
	return text
}

// require adds bundles that others need, and reads their packages if they are only outlined.
func (r *selectedCatalog) require(ctx context.Context, more []filter.Required) error {
	if len(more) == 0 {
		return nil
	}
	r.required = append(r.required, more...)
	if slices.ContainsFunc(more, func(q filter.Required) bool { return r.full.Package(q.Package) == nil }) {
		if err := r.read(ctx); err != nil {
			return err
		}
	}
	if err := r.filter(); err != nil {
		return fmt.Errorf("adding dependencies: %w", err)
	}
	return nil
}
