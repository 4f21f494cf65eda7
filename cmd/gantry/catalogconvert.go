package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/catalog/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
)

func (a *app) catalogConvertCommand() *cobra.Command {
	var f readFlags
	var o authoring.ConvertOptions
	c := &cobra.Command{
		Use:   "convert CATALOG --output-dir DIR",
		Short: "Convert a catalog to a folder of file-based catalog files",
		Long: `Write a catalog to a folder in the layout of opm, with PACKAGE/catalog.json for each
package. It converts SQLite indexes to file-based catalogs, and JSON to YAML or YAML to
JSON. The folder appears only when it is complete. A folder with other files in it is
refused.

` + catalogHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized, exitNoSpace: helpNoSpace}),
		Example: `  gantry catalog convert index.db --output-dir catalog
  gantry catalog convert quay.io/org/catalog:v4.20 --output-dir catalog --files yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Catalog = args[0]
			return a.catalogConvert(cmd.Context(), f, o)
		},
	}
	f.addFlags(c.Flags())
	migrateFlag(c.Flags(), &o.Migrate)
	c.Flags().StringVar(&o.OutputDir, "output-dir", "", "folder for the catalog")
	c.Flags().StringVar((*string)(&o.Files), "files", string(folder.JSON), "format of the files: json or yaml")
	return c
}

func (a *app) catalogConvert(ctx context.Context, f readFlags, o authoring.ConvertOptions) error {
	o.Env, o.Workspace = a.environment(&f.registryFlags), f.workspace
	converted, err := authoring.ConvertCatalog(ctx, o)
	if err != nil {
		return err
	}
	return a.result(converted, func() string {
		return fmt.Sprintf("%s written to %s (%s)\n", o.Catalog, converted.Folder, view.Number(len(converted.Packages), "package", "packages"))
	})
}
