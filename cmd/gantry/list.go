package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/catalog/listing"
)

func (a *app) listCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:  "list",
		Long: "List the catalogs, packages, channels and releases that a configuration can name.\n\n" + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized}),
		Example: `  gantry list operators --catalogs --version 4.20
  gantry list operators --catalog quay.io/org/catalog:v4.20
  gantry list releases --channel stable-4.20`,
	}, a.listOperatorsCommand(), a.listReleasesCommand())
}

// listFlags are the flags of gantry list operators. Their names are those of oc mirror.
type listFlags struct {
	readFlags
	catalogs                      bool
	version                       string
	catalog, packageName, channel string
}

func (a *app) listOperatorsCommand() *cobra.Command {
	var f listFlags
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.catalogs && f.catalog != "":
				return usagef("--catalogs and --catalog exclude each other")
			case f.catalog == "" && f.packageName+f.channel != "":
				return usagef("--package and --channel require --catalog")
			case f.catalog == "" && !f.catalogs && f.version != "":
				return usageHint("give --catalogs with it, or --catalog", "--version alone")
			case f.catalog == "":
				return a.listCatalogs(cmd.Context(), f)
			}
			if f.version != "" {
				var err error
				if f.catalog, err = listing.CatalogOf(f.catalog, f.version); err != nil {
					return err
				}
			}
			return a.listOperators(cmd.Context(), f.readFlags, f.catalog, f.packageName, f.channel)
		},
	}
	f.addFlags(c.Flags())
	c.Flags().BoolVar(&f.catalogs, "catalogs", false, "list the catalogs of a version of OpenShift")
	c.Flags().StringVar(&f.version, "version", "", "version of OpenShift, such as 4.20, with --catalogs, or for a catalog without a tag")
	c.Flags().StringVar(&f.catalog, "catalog", "", "list the packages of this catalog")
	c.Flags().StringVar(&f.packageName, "package", "", "list the bundles of this package")
	c.Flags().StringVar(&f.channel, "channel", "", "list only this channel of the package")
	formFlag(c.Flags(), "format of the list: text, wide (with the features that operators declare), json or yaml", outputText, outputWide, outputJSON, outputYAML)
	return c
}

// listCatalogs lists the catalogs of a version, or without --catalogs the versions.
func (a *app) listCatalogs(ctx context.Context, f listFlags) error {
	list := listing.Catalogs
	if !f.catalogs {
		list = listing.CatalogVersions
	}
	found, err := list(ctx, listing.CatalogsOptions{Env: a.environment(&f.registryFlags), Workspace: f.workspace, Version: f.version})
	if err != nil {
		return err
	}
	var document any = versionsDocument{1, found}
	if f.catalogs {
		document = catalogsDocument{1, found}
	}
	return a.result(document, func() string {
		if a.isOcMirror() {
			return view.OCMirrorCatalogs(f.version, found)
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
