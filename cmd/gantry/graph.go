package main

import (
	"bufio"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// graphFlags are the flags of gantry catalog graph.
type graphFlags struct {
	readFlags
	options listing.PackageGraphOptions
	form    string
}

// graphCommand returns the command of earlier versions, which draws both.
func (a *app) graphCommand() *cobra.Command {
	c := a.catalogGraphCommand()
	ofReleases := a.graphReleaseCommand()
	ofReleases.Use = "release CHANNEL"
	c.AddCommand(ofReleases)
	return c
}

func (a *app) catalogGraphCommand() *cobra.Command {
	var f graphFlags
	c := &cobra.Command{
		Use:   "graph CATALOG [PACKAGE]",
		Short: "Draw the update graph of a package",
		Long: `Draw the update graph of a package, channel by channel. Bundles that several channels
share are drawn once. Without PACKAGE, list the packages of the catalog, like gantry
catalog list. With -c, mark what the configuration keeps and what it prunes. With
--installed, or with installed lists in the configuration, mark what clusters run and
keep their upgrade paths. The picture of -o svg needs no other program and no network.

` + catalogHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized}),
		Example: `  gantry catalog graph quay.io/org/catalog:v4.20
  gantry catalog graph quay.io/org/catalog:v4.20 my-operator
  gantry catalog graph quay.io/org/catalog:v4.20 my-operator --channel stable -o svg > graph.svg
  gantry catalog graph quay.io/org/catalog:v4.20 my-operator -c imageset.yaml --installed csv.json -o svg > graph.svg`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.graphPackages(cmd, f, args[0])
			}
			f.options.Catalog, f.options.Package = args[0], args[1]
			return a.graph(cmd.Context(), &f)
		},
	}
	f.readFlags.addFlags(c.Flags())
	addSelection(c.Flags(), &f.options.Selection, "it is marked, and with -c "+pathsKept)
	repeatable(c.Flags(), &f.options.Channels, "channel", "draw this channel (may be repeated; default: all)")
	c.Flags().BoolVar(&f.options.All, "all", false, "draw bundles that several channels share in each of them")
	c.Flags().StringVarP(&f.form, "output", "o", outputText, "format of the graph: "+strings.Join(diagram.Forms(), ", "))
	offer(c.Flags(), "output", diagram.Forms())
	return c
}

// graphPackages lists the packages that a graph can be drawn of.
func (a *app) graphPackages(cmd *cobra.Command, f graphFlags, catalog string) error {
	var drawn []string
	for _, name := range []string{"channel", "config", "installed", "dependencies"} {
		if cmd.Flags().Changed(name) {
			drawn = append(drawn, "--"+name)
		}
	}
	if f.form != outputText && f.form != outputJSON {
		drawn = append(drawn, "-o "+f.form)
	}
	if len(drawn) > 0 {
		return usageHint("name it after the catalog; "+cmd.CommandPath()+" "+catalog+" lists the packages", "%s requires a package", strings.Join(drawn, ", "))
	}
	if err := a.form(f.form, outputText, outputJSON); err != nil {
		return err
	}
	return a.listOperators(cmd.Context(), listing.PackagesOptions{Env: a.environment(&f.registryFlags), Workspace: f.workspace, Catalog: catalog})
}

func (a *app) graph(ctx context.Context, f *graphFlags) error {
	form, err := diagram.ParseForm(f.form)
	if err != nil {
		return usagef("-o: %w", err)
	}
	o := f.options
	o.Env, o.Workspace, o.All = a.environment(&f.registryFlags), f.workspace, o.All || form == diagram.JSON
	drawing, err := listing.PackageGraph(ctx, o)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.stdout)
	if err := diagram.Write(out, drawing, form); err != nil {
		return err
	}
	return out.Flush()
}
