package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/listing"
)

func (a *app) catalogListCommand() *cobra.Command {
	var o listing.PackagesOptions
	c := &cobra.Command{
		Use:   "list CATALOG [PACKAGE]",
		Short: "List the packages of a catalog, or the bundles of one package",
		Long: `List the packages of a catalog with their channels and the head of the default channel.
With PACKAGE, list its bundles by channel, newest first, and mark what is deprecated.

` + catalogHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized}),
		Example: `  gantry catalog list quay.io/org/catalog:v4.20
  gantry catalog list quay.io/org/catalog:v4.20 my-operator --channel stable
  gantry catalog list ./catalog -o json`,
		Args: cobra.RangeArgs(1, 2),
	}
	c.Flags().StringVar(&o.Channel, "channel", "", "list only this channel of the package")
	formFlag(c.Flags(), "format of the list: text, wide (with the features that operators declare), json or yaml", outputText, outputWide, outputJSON, outputYAML)
	return a.catalogVerb(c, func(ctx context.Context, e *env.Env, workspace string, args []string) error {
		o.Env, o.Workspace, o.Catalog, o.Package = e, workspace, args[0], append(args, "")[1]
		return a.listOperators(ctx, o)
	})
}
