package check

import (
	"context"
	"slices"
	"time"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/plan/signing"
)

// selectPackages reads the catalogs of a configuration, a plan, an archive, or those that are named: the
// packages that only reports, and the outlines of others.
func (c *operatorCheck) selectPackages(ctx context.Context, only func(pkg string) bool) (*build.Selection, error) {
	options := build.Options{Log: c.env.Logger(), Packages: only}
	switch {
	case c.options.Config != "":
		minAge, err := c.options.MinAgeOf(c.selected.Config)
		if err != nil {
			return nil, err
		}
		options.Installed = c.kept
		options.Now, options.MinAge, options.Warn = time.Now(), minAge, func(text string) { c.env.Warnf("%s", text) }
		return build.Select(ctx, c.selected.Config, c.sources.Plan(), options)
	case c.options.Plan != "":
		p, err := signing.ReadPlan(c.options.Plan)
		if err != nil {
			return nil, err
		}
		own := *p // variants of a catalog are for other clusters than the catalog
		own.Catalogs = slices.DeleteFunc(slices.Clone(p.Catalogs), func(c plan.Catalog) bool { return c.VariantOf != "" })
		return build.Reselect(ctx, &own, c.sources.Plan(), options)
	}
	if c.archive != nil {
		return c.selectArchived(ctx, only)
	}
	s := &build.Selection{}
	for _, arg := range c.options.Catalogs {
		src, err := c.sources.Open(ctx, arg)
		if err != nil {
			return nil, err
		}
		k, err := src.Read(ctx, catalog.Options{Keep: only, Outline: true})
		if err != nil {
			return nil, err
		}
		s.Catalogs = append(s.Catalogs, build.Unfiltered(src.Name, k))
	}
	return s, nil
}
