package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/listing"
)

func (a *app) listCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:  "list",
		Long: "List what catalogs, mirrors and archives have, and answer questions about it: can OLM v1\ninstall it, which versions and APIs, how large is it, is it at my mirror, on which disk?\n\n" + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized}),
		Example: `  gantry list packages 'logging*' --version 4.20
  gantry list bundles quay.io/org/catalog:v4.20 --package my-operator -o wide
  gantry list images docker://mirror.example.com:5000 '*/etcd:*'
  gantry list packages file:///media/disk --at docker://mirror.example.com:5000
  gantry list releases --channel stable-4.20`,
	}, a.listCatalogsCommand(), a.listPackagesCommand(), a.listChannelsCommand(), a.listBundlesCommand(), a.listReleasesCommand(), a.listImagesCommand(), a.listFilesCommand(), a.listChartsCommand(),
		a.listOperatorsCommand())
}

func (a *app) listOperatorsCommand() *cobra.Command {
	var o listing.PackagesOptions // with flags that are named like those of oc mirror
	var catalogs bool
	var version string
	c := &cobra.Command{
		Use:   "operators [--catalogs --version X.Y | --catalog CATALOG [--package PACKAGE [--channel CHANNEL]]]",
		Short: "List catalogs, the packages of a catalog, or the bundles of a package",
		Long: `List operators:

  without flags                          the versions of OpenShift that have catalogs
  --catalogs --version X.Y               the catalogs of a version of OpenShift
  --catalog CATALOG [--version X.Y]      the packages of a catalog; a version becomes its tag
  --catalog CATALOG --package PACKAGE    the bundles of a package by channel

` + catalogHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized}),
		Example: `  gantry list operators --catalogs --version 4.20
  gantry list operators --catalog registry.redhat.io/redhat/redhat-operator-index:v4.20
  gantry list operators --catalog quay.io/org/catalog:v4.20 --package my-operator --channel stable
  gantry list operators --catalog quay.io/org/catalog:v4.20 -o wide`,
		Args: cobra.NoArgs,
	}
	c.Flags().BoolVar(&catalogs, "catalogs", false, "list the catalogs of a version of OpenShift")
	c.Flags().StringVar(&version, "version", "", "version of OpenShift, such as 4.20, with --catalogs, or for a catalog without a tag")
	c.Flags().StringVar(&o.Catalog, "catalog", "", "list the packages of this catalog")
	c.Flags().StringVar(&o.Package, "package", "", "list the bundles of this package")
	c.Flags().StringVar(&o.Channel, "channel", "", "list only this channel of the package")
	formFlag(c.Flags(), "format of the list: text, wide (with the features that operators declare), json or yaml", outputText, outputWide, outputJSON, outputYAML)
	return a.catalogVerb(c, func(ctx context.Context, e *env.Env, workspace string, _ []string) error {
		switch {
		case catalogs && o.Catalog != "":
			return usagef("--catalogs and --catalog exclude each other")
		case o.Catalog == "" && o.Package+o.Channel != "":
			return usagef("--package and --channel require --catalog")
		case o.Catalog == "" && !catalogs && version != "":
			return usageHint("give --catalogs with it, or --catalog", "--version alone")
		case o.Catalog == "":
			return a.listCatalogs(ctx, listing.CatalogsOptions{Env: e, Workspace: workspace, Version: version}, catalogs)
		}
		if version != "" {
			var err error
			if o.Catalog, err = listing.CatalogOf(o.Catalog, version); err != nil {
				return err
			}
		}
		o.Env, o.Workspace = e, workspace
		return a.listOperators(ctx, o)
	})
}

// listCatalogs lists the catalogs of a version, or without --catalogs the versions.
func (a *app) listCatalogs(ctx context.Context, o listing.CatalogsOptions, catalogs bool) error {
	list := listing.Catalogs
	if !catalogs {
		list = listing.CatalogVersions
	}
	found, err := list(ctx, o)
	if err != nil {
		return err
	}
	var document any = versionsDocument{1, found}
	if catalogs {
		document = catalogsDocument{1, found}
	}
	return a.result(document, func() string {
		if a.isOcMirror() {
			return view.OCMirrorCatalogs(o.Version, found)
		}
		return strings.Join(found, "\n") + "\n"
	})
}

// A catalogsDocument is what gantry list --catalogs -o json prints.
type catalogsDocument struct {
	Version  int      `json:"version"`
	Catalogs []string `json:"catalogs"`
}

// A versionsDocument is what gantry list -o json prints: the versions of OpenShift that have catalogs.
type versionsDocument struct {
	Version  int      `json:"version"`
	Versions []string `json:"versions"`
}
