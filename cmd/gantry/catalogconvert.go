package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
	"github.com/gantry-mirror/gantry/pkg/env"
)

func (a *app) catalogConvertCommand() *cobra.Command {
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
	}
	migrateFlag(c.Flags(), &o.Migrate)
	c.Flags().StringVar(&o.OutputDir, "output-dir", "", "folder for the catalog")
	c.Flags().StringVar((*string)(&o.Files), "files", string(folder.JSON), "format of the files: json or yaml")
	return a.catalogVerb(c, func(ctx context.Context, e *env.Env, workspace string, args []string) error {
		o.Env, o.Workspace, o.Catalog = e, workspace, args[0]
		converted, err := authoring.ConvertCatalog(ctx, o)
		return show(a, converted, err, func(c *authoring.Converted) string {
			return fmt.Sprintf("%s written to %s (%s)\n", o.Catalog, c.Folder, view.Number(len(c.Packages), "package", "packages"))
		})
	})
}
