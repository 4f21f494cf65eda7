package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
	"github.com/gantry-mirror/gantry/pkg/env"
)

func (a *app) catalogFilterCommand() *cobra.Command {
	var o authoring.FilterOptions
	c := &cobra.Command{
		Use:   "filter -c FILE --output-dir DIR",
		Short: "Apply a configuration to its catalogs and write the results as folders",
		Long: `Apply an ImageSetConfiguration to its catalogs and write each result to a folder
DIR/NAME of file-based catalog files, named like the catalog. No images are resolved
and no destination is needed. A folder appears only when it is complete.

The output lists the bundles that were kept, and why. With -o json it also lists every
image that they name.

` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized, exitNoSpace: helpNoSpace}),
		Example: `  gantry catalog filter -c imageset.yaml --output-dir filtered
  gantry catalog filter -c imageset.yaml --output-dir filtered --images images.txt
  gantry catalog filter -c imageset.yaml --output-dir filtered -o json | jq '.catalogs[].packages'`,
		Args: cobra.NoArgs,
	}
	addSelection(c.Flags(), &o.Selection, pathsKept)
	c.Flags().StringVar(&o.OutputDir, "output-dir", "", "folder for the filtered catalogs")
	c.Flags().StringVar((*string)(&o.Files), "files", string(folder.JSON), "format of the files: json or yaml")
	c.Flags().StringVar(&o.Images, "images", "", "write the images that the catalogs name to this file, sorted, one per line")
	formFlag(c.Flags(), "format of the report: text, json or yaml", outputText, outputJSON, outputYAML)
	return a.catalogVerb(c, func(ctx context.Context, e *env.Env, workspace string, _ []string) error {
		o.Env, o.Workspace = e, workspace
		result, err := authoring.FilterCatalogs(ctx, o)
		return show(a, result, err, func(r *authoring.FilterResult) string { return view.Filtered(r, a.columns()) })
	})
}
