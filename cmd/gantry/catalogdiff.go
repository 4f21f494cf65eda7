package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/diff"
)

func (a *app) catalogDiffCommand() *cobra.Command {
	var f readFlags
	var form string
	var exitCode bool
	c := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say what changed between two catalogs",
		Long: `Diff lists packages, channels, bundles, update edges and deprecations that one
catalog has and the other has not, and what differs in those that both have.

` + catalogHelp + `
` + exitStatusHelp,
		Example: `  gantry catalog diff quay.io/org/catalog:v4.19 quay.io/org/catalog:v4.20
  gantry catalog diff ./catalog quay.io/org/catalog:v4.20 --exit-code -o json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.catalogDiff(cmd.Context(), f, form, exitCode, args)
		},
	}
	f.addFlags(c.Flags())
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 5 where something changed")
	formFlag(c.Flags(), &form, "form of the list: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

func (a *app) catalogDiff(ctx context.Context, f readFlags, form string, exitCode bool, args []string) error {
	if err := a.form(form, outputText, outputJSON, outputYAML); err != nil {
		return err
	}
	r, err := a.read(&f)
	if err != nil {
		return err
	}
	defer a.done(r)
	var sides [2]*catalog.Catalog
	for i, arg := range args {
		if sides[i], err = r.read(ctx, arg, catalog.Options{}); err != nil {
			return err
		}
	}
	d := diff.Compare(sides[0], sides[1])
	if form == outputText {
		err = d.WriteText(a.stdout, 0)
	} else {
		err = a.print(form, struct {
			Version int        `json:"version"`
			Diff    *diff.Diff `json:"diff"`
		}{1, d})
	}
	if err == nil && exitCode && !d.Empty() {
		err = errSomething
	}
	return err
}
