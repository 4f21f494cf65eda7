package listing

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/picture"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// PackageGraphOptions says which update graph PackageGraph draws.
type PackageGraphOptions struct {
	Env *env.Env
	// Selection marks what the configuration keeps and prunes, and what clusters run. Both are
	// optional.
	selection.Selection
	// Workspace is the folder whose cache is used, if it exists. The default is env.DefaultWorkspace.
	Workspace string
	// Catalog is an image, a folder or a file.
	Catalog string
	// Package is the package to draw, and Channels its channels. The default are all channels.
	Package  string
	Channels []string
	// All draws bundles that several channels share in each of them, and not only in the first.
	All bool
}

// PackageGraph draws the update graph of a package, channel by channel. With a configuration, it marks
// what the configuration keeps and what it prunes.
func PackageGraph(ctx context.Context, o PackageGraphOptions) (drawing diagram.Drawing, err error) {
	e, done := o.Env.OrDefault()
	defer done()
	if o.Dependencies && o.Config == "" {
		return drawing, env.Inputf("Options.Dependencies is for a configuration (Options.Config)")
	}
	selected, err := LoadOperators(&o.Selection, e)
	if err != nil {
		return drawing, err
	}
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return drawing, err
	}
	defer workspace.CloseSources(e, r)
	src, err := r.Open(ctx, o.Catalog)
	if err != nil {
		return drawing, err
	}
	c, err := src.Read(ctx, catalog.Options{Keep: func(pkg string) bool { return pkg == o.Package }})
	if err != nil {
		return drawing, err
	}
	p, err := PackageOf(c, o.Catalog, o.Package)
	if err != nil {
		return drawing, err
	}
	for _, channel := range o.Channels {
		if err := CheckChannel(p, channel); err != nil {
			return drawing, err
		}
	}
	options := picture.Options{
		Channels: o.Channels, All: o.All,
		Installed: InstalledEntries(slices.Concat(selected.Clusters, ConfiguredOperators(selected.Config)), p),
	}
	if selected.Config != nil {
		if options.Kept, options.Account, err = keptPackage(ctx, e, &o, selected, r, src.Name); err != nil {
			return drawing, err
		}
	}
	if drawing, err = picture.Draw(p, options); err != nil {
		return drawing, advice.Wrap(advice.Input, err, "")
	}
	return drawing, nil
}

// LoadOperators is Load for functions that only use operators. It reports the warnings of the
// configuration. A list of installed releases without operators is an error.
func LoadOperators(s *selection.Selection, e *env.Env) (*selection.Selected, error) {
	out, err := s.Load()
	if err == nil {
		selection.WarnConfig(e, out.Config)
	}
	if err == nil && len(out.Releases) > 0 && len(out.Clusters) == 0 {
		err = env.InputHint("give the output of oc get csv -A -o json", "Options.Installed has the releases that clusters run, but no operators")
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// keptPackage returns what the configuration keeps of the package, in the catalog with the name from.
func keptPackage(ctx context.Context, e *env.Env, o *PackageGraphOptions, selected *selection.Selected, r *workspace.Sources, from string) (*catalog.Package, *filter.Package, error) {
	var names []string
	for _, op := range selected.Config.Mirror.Operators {
		names = append(names, op.Catalog)
	}
	isFrom := func(name string) bool { return canonicalCatalog(name) == canonicalCatalog(from) }
	if !slices.ContainsFunc(names, isFrom) {
		return nil, nil, env.Inputf("%s does not have catalog %s; its catalogs are %s", o.Config, from, strings.Join(names, ", "))
	}
	minAge, err := o.MinAgeOf(selected.Config)
	if err != nil {
		return nil, nil, err
	}
	s, err := build.Select(ctx, selected.Config, r.Plan(), build.Options{
		Log: e.Logger(), Warn: func(text string) { e.Warnf("%s", text) }, Installed: selected.Clusters, Now: time.Now(), MinAge: minAge, Packages: func(pkg string) bool { return pkg == o.Package },
	})
	if err != nil {
		return nil, nil, err
	}
	for _, c := range s.Catalogs {
		if !isFrom(c.Catalog.Source) {
			continue
		}
		i := slices.IndexFunc(c.Result.Packages, func(p filter.Package) bool { return p.Name == o.Package })
		if i >= 0 {
			return c.Result.Catalog.Package(o.Package), &c.Result.Packages[i], nil
		}
	}
	return &catalog.Package{Name: o.Package}, nil, nil
}

// canonicalCatalog returns the name of a catalog, as a complete reference or with an absolute path.
// Two names mean the same catalog if their canonical names are equal.
func canonicalCatalog(name string) string {
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

// InstalledEntries returns the entries of a package that clusters run, without duplicates.
func InstalledEntries(operators []installed.Operator, p *catalog.Package) []graph.At {
	var entries []graph.At
	add := func(at graph.At) {
		if !slices.ContainsFunc(entries, func(e graph.At) bool {
			return e.Name == at.Name && e.Version.Equals(at.Version) && e.Release == at.Release
		}) {
			entries = append(entries, at)
		}
	}
	for _, o := range operators {
		if o.Package != p.Name {
			continue
		}
		version, _ := semver.Parse(o.Version) // without a version, the name of the bundle is enough
		if o.Bundle != "" {
			add(graph.At{Name: o.Bundle, Version: version, Release: o.Release})
			continue
		}
		for _, b := range graph.OfVersion(p, version) {
			add(graph.Running(b))
		}
	}
	return entries
}
