package main

import (
	"context"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// listOperators lists the packages of a catalog, or the bundles of one package or channel.
func (a *app) listOperators(ctx context.Context, o listing.PackagesOptions) error {
	scripts := a.format == outputText && a.isOcMirror()
	o.Bundles = a.format != outputText || scripts
	list, err := listing.ListPackages(ctx, o)
	return show(a, list, err, func(l *listing.CatalogListing) string {
		if scripts {
			return view.OCMirrorOperators(l, o.Package != "", o.Channel != "")
		}
		return view.CatalogListing(l, o.Package != "", a.format == outputWide, a.columns())
	})
}
