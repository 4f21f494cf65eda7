package main

import "github.com/spf13/cobra"

const catalogHelp = `CATALOG is one of:
  quay.io/org/catalog:v1     an image
  oci://DIR[:NAME|@DIGEST]   an image in an OCI layout
  PATH or dir://PATH         a folder with file-based catalog files, an SQLite
                             database, a bundle directory, or a template
Images may contain a file-based catalog, an SQLite index or a bundle.
`

func (a *app) catalogCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:  "catalog",
		Long: "Inspect operator catalogs in any format, and create and test your own.\n\n" + catalogHelp + "\n" + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized}),
		Example: `  gantry catalog list quay.io/org/catalog:v4.20
  gantry catalog diff quay.io/org/catalog:v4.19 quay.io/org/catalog:v4.20
  gantry catalog graph quay.io/org/catalog:v4.20 my-operator -o svg > graph.svg
  gantry catalog filter -c imageset.yaml --output-dir filtered
  gantry catalog validate ./catalog`,
	}, a.catalogRenderCommand(), a.catalogValidateCommand(), a.catalogListCommand(), a.catalogDiffCommand(),
		a.catalogFilterCommand(), a.catalogConvertCommand(),
		a.catalogInitCommand(), a.catalogDeprecateCommand(), a.catalogBuildCommand(), a.catalogServeCommand(), a.catalogGraphCommand())
}
