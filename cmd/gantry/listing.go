package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// A listing is what a catalog offers, as -o json has it. Where one package is
// asked for, its channels have their bundles, and what is deprecated is said.
type listing struct {
	Version  int             `json:"version"`
	Catalog  string          `json:"catalog"`
	Packages []listedPackage `json:"packages"`
}

type listedPackage struct {
	Name           string          `json:"name"`
	DefaultChannel string          `json:"defaultChannel"`
	Deprecated     string          `json:"deprecated,omitempty"` // what its publisher says
	Channels       []listedChannel `json:"channels"`
}

type listedChannel struct {
	Name       string         `json:"name"`
	Head       string         `json:"head"`
	Version    string         `json:"version"` // of the head
	Deprecated string         `json:"deprecated,omitempty"`
	Bundles    []listedBundle `json:"bundles,omitempty"`
}

type listedBundle struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Deprecated string `json:"deprecated,omitempty"`
}

// listOperators lists a catalog's packages, or the bundles of one package or one
// channel of it.
func (a *app) listOperators(ctx context.Context, f readFlags, form, arg, pkg, channel string) error {
	if err := a.form(form, outputText, outputJSON, outputYAML); err != nil {
		return err
	}
	if channel != "" && pkg == "" {
		return usagef("--channel %s: of which package? name it", channel)
	}
	r, err := a.read(&f)
	if err != nil {
		return err
	}
	defer a.done(r)
	options := catalog.Options{Keep: func(name string) bool { return name == pkg }, Outline: pkg == ""}
	c, err := r.read(ctx, arg, options)
	if err != nil {
		return err
	}
	l := listing{Version: 1, Catalog: arg, Packages: []listedPackage{}}
	packages := c.Outlines
	if pkg != "" {
		p, err := packageOf(c, arg, pkg)
		if err != nil {
			return err
		}
		packages = []*catalog.Package{p}
	}
	for _, p := range packages {
		l.Packages = append(l.Packages, listPackage(p, pkg != ""))
	}
	if channel != "" {
		p := &l.Packages[0]
		if i := slices.IndexFunc(p.Channels, func(c listedChannel) bool { return c.Name == channel }); i >= 0 {
			p.Channels = p.Channels[i : i+1]
		} else {
			return noChannel(packages[0], channel)
		}
	}
	if form != outputText {
		return a.print(form, l)
	}
	return a.printListing(l, pkg != "")
}

// packageOf returns a package of a catalog that was read, or says what there is
// instead.
func packageOf(c *catalog.Catalog, arg, name string) (*catalog.Package, error) {
	if p := c.Package(name); p != nil {
		return p, nil
	}
	hint := suggest.Phrase(name, c.Names)
	if hint == "" {
		hint = "gantry catalog list " + arg + " shows its packages"
	}
	return nil, usagef("package %q is not in %s; %s", name, arg, hint)
}

func noChannel(p *catalog.Package, name string) error {
	var names []string
	for _, c := range p.Channels {
		names = append(names, c.Name)
	}
	hint := suggest.Phrase(name, names)
	if hint == "" {
		hint = "it has " + strings.Join(names, ", ")
	}
	return usagef("package %q has no channel %q; %s", p.Name, name, hint)
}

func listPackage(p *catalog.Package, bundles bool) listedPackage {
	deprecated := map[string]string{}
	for _, d := range p.Deprecations {
		for _, e := range d.Entries {
			deprecated[e.Schema+"/"+e.Name] = e.Message
		}
	}
	l := listedPackage{Name: p.Name, DefaultChannel: p.DefaultChannel, Deprecated: deprecated[catalog.SchemaPackage+"/"], Channels: []listedChannel{}}
	for _, c := range p.Channels {
		ch := listedChannel{Name: c.Name, Deprecated: deprecated[catalog.SchemaChannel+"/"+c.Name]}
		if heads := graph.Inspect(c.Entries).Heads; len(heads) > 0 {
			ch.Head = heads[0]
			ch.Version = versionOf(p, ch.Head)
		}
		if bundles {
			for _, e := range c.Entries {
				ch.Bundles = append(ch.Bundles, listedBundle{e.Name, versionOf(p, e.Name), deprecated[catalog.SchemaBundle+"/"+e.Name]})
			}
			slices.SortStableFunc(ch.Bundles, func(x, y listedBundle) int { return compareVersions(y.Version, x.Version) })
		}
		l.Channels = append(l.Channels, ch)
	}
	return l
}

// versionOf is a bundle's version with its release, or "".
func versionOf(p *catalog.Package, name string) string {
	b := p.Bundle(name)
	switch {
	case b == nil || b.VersionErr != nil:
		return ""
	case b.Release != "":
		return b.Version.String() + "-" + b.Release
	}
	return b.Version.String()
}

func (a *app) printListing(l listing, one bool) error {
	var rows strings.Builder
	t := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	if one {
		writeBundles(t, l.Packages[0])
	} else {
		writePackages(t, l.Packages)
	}
	_ = t.Flush() // into memory
	return a.text(trimmed(rows.String()))
}

func writeBundles(t io.Writer, p listedPackage) {
	fmt.Fprintf(t, "PACKAGE\tCHANNEL\tBUNDLE\tVERSION\t\n")
	for _, c := range p.Channels {
		channel := c.Name
		if c.Name == p.DefaultChannel {
			channel += " (default)"
		}
		for _, b := range c.Bundles {
			deprecated := b.Deprecated != "" || c.Deprecated != "" || p.Deprecated != ""
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", p.Name, channel, b.Name, b.Version, remarks(b.Name == c.Head, deprecated))
		}
	}
}

func writePackages(t io.Writer, packages []listedPackage) {
	fmt.Fprintf(t, "PACKAGE\tDEFAULT CHANNEL\tHEAD\tCHANNELS\n")
	for _, p := range packages {
		var names []string
		head := ""
		for _, c := range p.Channels {
			names = append(names, c.Name)
			if c.Name == p.DefaultChannel {
				head = c.Head
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Name, p.DefaultChannel, head, strings.Join(names, ", "))
	}
}

func remarks(head, deprecated bool) string {
	switch {
	case head && deprecated:
		return "head, deprecated"
	case head:
		return "head"
	case deprecated:
		return "deprecated"
	}
	return ""
}
