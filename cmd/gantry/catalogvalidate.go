package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/env"
)

func (a *app) catalogValidateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "validate CATALOG",
		Short: "Check a catalog against the rules of OLM and list all problems",
		Long: `Check a catalog against the rules of OLM's own validator. It lists all problems, each
with file, line and rule; OLM's validator stops at the first.

` + catalogHelp + `
` + exitCodes(map[int]string{exitError: "the catalog is invalid, or another error", exitUnauthorized: helpUnauthorized}),
		Example: `  gantry catalog validate ./catalog
  gantry catalog validate quay.io/org/catalog:v4.20 -o json`,
		Args: cobra.ExactArgs(1),
	}
	formFlag(c.Flags(), "format of the result: text, json or yaml", outputText, outputJSON, outputYAML)
	return a.catalogVerb(c, func(ctx context.Context, e *env.Env, workspace string, args []string) error {
		v, err := authoring.ValidateCatalog(ctx, authoring.ValidateOptions{Env: e, Workspace: workspace, Catalog: args[0]})
		return show(a, v, err, view.Validation)
	})
}
