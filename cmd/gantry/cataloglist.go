package main

import (
	"github.com/spf13/cobra"
)

func (a *app) catalogListCommand() *cobra.Command {
	var f readFlags
	var form, channel string
	c := &cobra.Command{
		Use:   "list CATALOG [PACKAGE]",
		Short: "List the packages of a catalog, or the bundles of one package",
		Long: `List shows what a catalog offers: its packages with their channels and the head
of the default one, or, of one package, every bundle by channel, the newest first.
What is deprecated is said of one package only.

` + catalogHelp + `
` + exitStatusHelp,
		Example: `  gantry catalog list quay.io/org/catalog:v4.20
  gantry catalog list quay.io/org/catalog:v4.20 my-operator --channel stable
  gantry catalog list ./catalog -o json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.listOperators(cmd.Context(), f, form, args[0], append(args, "")[1], channel)
		},
	}
	f.addFlags(c.Flags())
	c.Flags().StringVar(&channel, "channel", "", "only this channel of the package")
	formFlag(c.Flags(), &form, "form of the list: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}
