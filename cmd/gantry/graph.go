package main

import (
	"bufio"
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/picture"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/plan"
)

// graphFlags are those of gantry graph.
type graphFlags struct {
	readFlags
	selectFlags
	channels []string
	form     string
}

func (a *app) graphCommand() *cobra.Command {
	var f graphFlags
	c := &cobra.Command{
		Use:   "graph CATALOG PACKAGE",
		Short: "Draw the update graph of a package, or of platform releases",
		Long: `Graph draws the channels of a package: which bundle leads to which. With -c it tells
what the configuration keeps of it and what is pruned, with --installed and the
configuration's own installed lists where clusters stand, and what is kept for their
way from there. The picture (-o svg) needs no other program and no network.

` + catalogHelp + `
` + exitStatusHelp,
		Example: `  gantry graph quay.io/org/catalog:v4.20 my-operator
  gantry graph quay.io/org/catalog:v4.20 my-operator --channel stable -o svg > graph.svg
  gantry graph quay.io/org/catalog:v4.20 my-operator -c imageset.yaml --installed csv.json -o svg > graph.svg`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.graph(cmd.Context(), f, args[0], args[1])
		},
	}
	f.readFlags.addFlags(c.Flags())
	f.selectFlags.addFlags(c.Flags(), "it is marked, and with -c "+wayKept)
	c.Flags().StringArrayVar(&f.channels, "channel", nil, "draw this channel (may be repeated; default: all)")
	c.Flags().StringVarP(&f.form, "output", "o", outputText, "form of the graph: "+strings.Join(diagram.Forms(), ", "))
	offer(c.Flags(), "output", diagram.Forms())
	c.AddCommand(a.graphReleaseCommand())
	return c
}

func (a *app) graph(ctx context.Context, f graphFlags, arg, name string) error {
	form, err := diagram.ParseForm(f.form)
	if err != nil {
		return usagef("-o: %w", err)
	}
	if f.dependencies && f.config == "" {
		return errNoDependencies
	}
	if err := cmp.Or(f.loadGiven(), f.operatorsOnly()); err != nil {
		return err
	}
	r, err := a.read(&f.readFlags)
	if err != nil {
		return err
	}
	defer a.done(r)
	src, err := r.open(ctx, arg)
	if err != nil {
		return err
	}
	c, err := src.Read(ctx, catalog.Options{Keep: func(pkg string) bool { return pkg == name }})
	if err != nil {
		return err
	}
	p, err := packageOf(c, arg, name)
	if err != nil {
		return err
	}
	for _, channel := range f.channels {
		if p.Channel(channel) == nil {
			return noChannel(p, channel)
		}
	}
	options := picture.Options{Channels: f.channels, Installed: places(slices.Concat(f.clusters, configured(f.loaded)), p)}
	if f.loaded != nil {
		if options.Kept, options.Account, err = a.kept(ctx, f, r, src.Name, name); err != nil {
			return err
		}
	}
	drawing, err := picture.Draw(p, options)
	if err != nil {
		return &usageError{err}
	}
	out := bufio.NewWriter(a.stdout)
	if err := diagram.Write(out, drawing, form); err != nil {
		return err
	}
	return out.Flush()
}

// kept is what the configuration keeps of a package of the catalog from.
func (a *app) kept(ctx context.Context, f graphFlags, r *reading, from, name string) (*catalog.Package, *filter.Package, error) {
	var names []string
	for _, op := range f.loaded.Mirror.Operators {
		names = append(names, op.Catalog)
	}
	isFrom := func(name string) bool { return sameCatalog(name, from) }
	if !slices.ContainsFunc(names, isFrom) {
		return nil, nil, usagef("%s mirrors nothing of %s; its catalogs are %s", f.config, from, strings.Join(names, ", "))
	}
	s, err := plan.Select(ctx, f.loaded, r.from(), plan.Options{Log: a.log, Installed: f.operators, Only: func(pkg string) bool { return pkg == name }})
	if err != nil {
		return nil, nil, err
	}
	for _, c := range s.Catalogs {
		if !isFrom(c.Catalog.Source) {
			continue
		}
		i := slices.IndexFunc(c.Result.Packages, func(p filter.Package) bool { return p.Name == name })
		if i >= 0 {
			return c.Result.Catalog.Package(name), &c.Result.Packages[i], nil
		}
	}
	return &catalog.Package{Name: name}, nil, nil
}

// sameCatalog reports whether two names of catalogs are one, written in two ways.
func sameCatalog(a, b string) bool { return canonical(a) == canonical(b) }

func canonical(name string) string {
	dir, ok := strings.CutPrefix(name, source.DirScheme)
	if !ok {
		if ref, err := reference.Parse(name); err == nil {
			return ref.String()
		}
		return name
	}
	if path, err := filepath.Abs(dir); err == nil {
		dir = path
	}
	return source.DirScheme + dir
}
