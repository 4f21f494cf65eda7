package main

import (
	"context"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// listOperators lists the packages of a catalog, or the bundles of one package or channel.
func (a *app) listOperators(ctx context.Context, f readFlags, form, arg, pkg, channel string) error {
	if err := a.form(form, outputText, outputWide, outputJSON, outputYAML); err != nil {
		return err
	}
	scripts := form == outputText && a.isOcMirror()
	listing, err := listing.ListPackages(ctx, listing.PackagesOptions{
		Env: a.environment(&f.registryFlags), Workspace: f.workspace, Catalog: arg, Package: pkg, Channel: channel, Bundles: form != outputText || scripts,
	})
	if err != nil {
		return err
	}
	switch {
	case scripts:
		return a.text(view.OCMirrorOperators(listing, pkg != "", channel != ""))
	case form != outputText && form != outputWide:
		return a.print(form, listing)
	}
	return a.text(view.CatalogListing(listing, pkg != "", form == outputWide, a.columns()))
}
