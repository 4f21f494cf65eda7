package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
)

// filterFlags are the flags of gantry catalog filter.
type filterFlags struct {
	readFlags
	selectFlags
	outputDir string
	files     string
	images    string
	form      string
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
	f.selectFlags.addFlags(c.Flags(), pathsKept)
	c.Flags().StringVar(&f.outputDir, "output-dir", "", "folder for the filtered catalogs")
	c.Flags().StringVar(&f.files, "files", string(folder.JSON), "format of the files: json or yaml")
	c.Flags().StringVar(&f.images, "images", "", "write the images that the catalogs name to this file, sorted, one per line")
	formFlag(c.Flags(), &f.form, "format of the report: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

func (a *app) catalogFilter(ctx context.Context, f filterFlags) error {
	if err := a.form(f.form, outputText, outputJSON, outputYAML); err != nil {
		return err
	}
	result, err := authoring.FilterCatalogs(ctx, authoring.FilterOptions{
		Env: a.environment(&f.registryFlags), Selection: f.selection(), Workspace: f.workspace,
		OutputDir: f.outputDir, Files: folder.Form(f.files), Images: f.images,
	})
	if err != nil {
		return err
	}
	if f.form != outputText {
		return a.print(f.form, result)
	}
	return a.text(view.Filtered(result, a.columns()))
}
