package main

import (
	"context"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/catalog/listing"
)

// listOperators lists the packages of a catalog, or the bundles of one package or channel.
func (a *app) listOperators(ctx context.Context, f readFlags, arg, pkg, channel string) error {
	scripts := a.format == outputText && a.isOcMirror()
	listing, err := listing.ListPackages(ctx, listing.PackagesOptions{
		Env: a.environment(&f.registryFlags), Workspace: f.workspace, Catalog: arg, Package: pkg, Channel: channel, Bundles: a.format != outputText || scripts,
	})
	if err != nil {
		return err
	}
	return a.result(listing, func() string {
		if scripts {
			return view.OCMirrorOperators(listing, pkg != "", channel != "")
		}
		return view.CatalogListing(listing, pkg != "", a.format == outputWide, a.columns())
	})
}
