package check

import (
	"context"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/plan/planning"
)

// operators returns the operators that clusters run. With a configuration, their packages are found as a plan
// finds them.
func (c *operatorCheck) operators(ctx context.Context) ([]installed.Operator, error) {
	all := slices.Concat(c.selected.Clusters, planning.RecordedOperators(c.selected.Recorded.Operators))
	if c.selected.Config == nil {
		return all, nil
	}
	return build.Identify(ctx, c.selected.Config, c.sources.Plan(), all)
}

// contents returns what catalogs have, at the mirror and at the publisher.
func contents(catalogs []upgrade.Catalog) []*catalog.Catalog {
	var all []*catalog.Catalog
	for _, k := range catalogs {
		all = append(all, k.Kept, k.Source)
	}
	return all
}

// samePackages reports whether two lists of the same operators have the same packages.
func samePackages(a, b []installed.Operator) bool {
	return slices.EqualFunc(a, b, func(a, b installed.Operator) bool { return a.Package == b.Package })
}

// unreported returns the operators of a configuration that clusters do not report.
func unreported(configured, reported []installed.Operator) []installed.Operator {
	return slices.DeleteFunc(slices.Clone(configured), func(o installed.Operator) bool {
		return slices.ContainsFunc(reported, func(r installed.Operator) bool {
			return r.Package == o.Package && (o.Bundle == "" || r.Bundle == o.Bundle)
		})
	})
}
