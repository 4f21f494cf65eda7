package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/catalog/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
)

// filterFlags are the flags of gantry catalog filter.
type filterFlags struct {
	readFlags
	options authoring.FilterOptions
}

func (a *app) catalogFilterCommand() *cobra.Command {
	var f filterFlags
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.catalogFilter(cmd.Context(), f)
		},
	}
	f.readFlags.addFlags(c.Flags())
	addSelection(c.Flags(), &f.options.Selection, pathsKept)
	c.Flags().StringVar(&f.options.OutputDir, "output-dir", "", "folder for the filtered catalogs")
	c.Flags().StringVar((*string)(&f.options.Files), "files", string(folder.JSON), "format of the files: json or yaml")
	c.Flags().StringVar(&f.options.Images, "images", "", "write the images that the catalogs name to this file, sorted, one per line")
	formFlag(c.Flags(), "format of the report: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

func (a *app) catalogFilter(ctx context.Context, f filterFlags) error {
	f.options.Env, f.options.Workspace = a.environment(&f.registryFlags), f.workspace
	result, err := authoring.FilterCatalogs(ctx, f.options)
	if err != nil {
		return err
	}
	return a.result(result, func() string { return view.Filtered(result, a.columns()) })
}
