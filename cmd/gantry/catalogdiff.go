package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog/diff"
	"github.com/gantry-mirror/gantry/pkg/env"
)

func (a *app) catalogDiffCommand() *cobra.Command {
	var exitCode bool
	c := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Show what changed between two catalogs",
		Long: `List packages, channels, bundles, update edges and deprecations that were added,
removed or changed.

` + catalogHelp + `
` + exitCodes(map[int]string{exitSomething: "the catalogs differ (with --exit-code)", exitUnauthorized: helpUnauthorized}),
		Example: `  gantry catalog diff quay.io/org/catalog:v4.19 quay.io/org/catalog:v4.20
  gantry catalog diff ./catalog quay.io/org/catalog:v4.20 --exit-code -o json`,
		Args: cobra.ExactArgs(2),
	}
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with status 5 if the catalogs differ")
	formFlag(c.Flags(), "format of the list: text, json or yaml", outputText, outputJSON, outputYAML)
	return a.catalogVerb(c, func(ctx context.Context, e *env.Env, workspace string, args []string) error {
		d, err := authoring.CompareCatalogs(ctx, authoring.CompareCatalogsOptions{Env: e, Workspace: workspace, Old: args[0], New: args[1]})
		if err != nil {
			return err
		}
		if a.format == outputText {
			err = d.WriteText(a.stdout, 0)
		} else {
			err = a.result(catalogDiffDocument{1, d}, nil)
		}
		if err == nil && exitCode && !d.Empty() {
			err = errSomething
		}
		return err
	})
}

// A catalogDiffDocument is what gantry catalog diff -o json prints.
type catalogDiffDocument struct {
	Version int        `json:"version"`
	Diff    *diff.Diff `json:"diff"`
}
