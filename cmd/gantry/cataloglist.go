package main

import (
	"github.com/spf13/cobra"
)

func (a *app) catalogListCommand() *cobra.Command {
	var f readFlags
	var channel string
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
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.listOperators(cmd.Context(), f, args[0], append(args, "")[1], channel)
		},
	}
	f.addFlags(c.Flags())
	c.Flags().StringVar(&channel, "channel", "", "list only this channel of the package")
	formFlag(c.Flags(), "format of the list: text, wide (with the features that operators declare), json or yaml", outputText, outputWide, outputJSON, outputYAML)
	return c
}
