package upgrade

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
)

// A bundleKey identifies a bundle of a catalog of the mirror.
type bundleKey struct{ catalog, pkg, bundle string }

// A dependencyStatus describes the dependencies of the bundles of a mirror for one namespace.
type dependencyStatus struct {
	// missing lists what no bundle provides that OLM classic could install, as the end of "NAME
	// needs".
	missing map[bundleKey][]string
	// installedOnly lists what only installed operators provide.
	installedOnly map[bundleKey][]providedDependency
}

// A providedDependency is a dependency that an installed bundle provides.
type providedDependency struct{ wants, by string }

// dependencies caches the dependencyStatus of each namespace of the clusters.
type dependencies struct {
	catalogs  []Catalog
	operators []installed.Operator
	known     map[string]dependencyStatus
}

// installedCatalog is the name of the installed operators among the catalogs. The blank at the end
// keeps it distinct from the names of real catalogs.
const installedCatalog = "what is installed "

// in returns the status of a namespace: OLM classic looks for dependencies among the operators of
// the same namespace and in catalogs. "" is all namespaces.
func (d *dependencies) in(namespace string) dependencyStatus {
	if found, ok := d.known[namespace]; ok {
		return found
	}
	local := d.installed(namespace)
	sides := []resolve.Catalog{{Name: installedCatalog, Priority: math.MinInt, Kept: local, Original: local}}
	for _, k := range d.catalogs {
		c := &catalog.Catalog{Packages: slices.Concat(k.Kept.Packages, k.Kept.Outlines)}
		sides = append(sides, resolve.Catalog{Name: k.Name, Wanted: true, Kept: c, Original: c})
	}
	result := dependencyStatus{missing: map[bundleKey][]string{}, installedOnly: map[bundleKey][]providedDependency{}}
	for {
		needs := resolve.Dependencies(sides, nil)
		for _, u := range needs.Unsatisfied {
			for _, b := range u.Bundles {
				key := bundleKey{u.Catalog, u.Package, b}
				result.missing[key] = append(result.missing[key], u.Requirement)
			}
		}
		if len(needs.Unsatisfied) > 0 {
			// A bundle that cannot be installed provides nothing.
			for i := range sides[1:] {
				side := &sides[i+1]
				side.Kept = result.installable(side.Name, side.Kept)
				side.Original = side.Kept
			}
			continue
		}
		for _, m := range needs.Satisfied {
			if m.By.Catalog != installedCatalog {
				continue
			}
			for _, b := range m.Bundles {
				key := bundleKey{m.Catalog, m.Package, b}
				result.installedOnly[key] = append(result.installedOnly[key], providedDependency{m.Requirement, m.By.Bundle})
			}
		}
		d.known[namespace] = result
		return result
	}
}

// installable returns a catalog without the bundles that have missing dependencies.
func (s dependencyStatus) installable(name string, c *catalog.Catalog) *catalog.Catalog {
	left := &catalog.Catalog{}
	for _, p := range c.Packages {
		gone := func(b *catalog.Bundle) bool { return len(s.missing[bundleKey{name, p.Name, b.Name}]) > 0 }
		if slices.ContainsFunc(p.Bundles, gone) {
			less := *p
			less.Bundles = slices.DeleteFunc(slices.Clone(p.Bundles), gone)
			p = &less
		}
		left.Packages = append(left.Packages, p)
	}
	return left
}

// installed returns the operators of OLM classic in a namespace as a catalog. It includes operators
// whose namespace is unknown.
func (d *dependencies) installed(namespace string) *catalog.Catalog {
	const channel = "installed"
	c := &catalog.Catalog{}
	for _, o := range d.operators {
		if o.Generation != graph.Classic || o.Package == "" || namespace != "" && o.Namespace != "" && o.Namespace != namespace {
			continue
		}
		at, _, ok := position(o, d.catalogs)
		if !ok || at.Name == "" {
			continue
		}
		b := &catalog.Bundle{Package: o.Package, Name: at.Name, Version: at.Version, Release: at.Release}
		for _, k := range d.catalogs {
			for _, side := range []*catalog.Catalog{k.Source, k.Kept} {
				if p := find(side, o.Package); p != nil && p.Bundle(at.Name) != nil {
					b.Properties = p.Bundle(at.Name).Properties
				}
			}
		}
		b.Properties = slices.Clone(b.Properties)
		for _, api := range o.APIs {
			value, _ := json.Marshal(map[string]string{"group": api.Group, "version": api.Version, "kind": api.Kind}) // strings
			b.Properties = append(b.Properties, catalog.Property{Type: "olm.gvk", Value: value})
		}
		c.Packages = append(c.Packages, &catalog.Package{
			Name: o.Package, DefaultChannel: channel, Bundles: []*catalog.Bundle{b},
			Channels: []*catalog.Channel{{Package: o.Package, Name: channel, Entries: []catalog.Entry{{Name: b.Name}}}},
		})
	}
	return c
}

// missing returns the dependencies of a bundle that neither the mirror nor any installed operator
// provides, for OLM classic.
func (c pathCheck) missing(bundle string) []string {
	if !c.hasDependencies(bundle) {
		return nil
	}
	key := bundleKey{c.catalog.Name, c.operator.Package, bundle}
	anywhere := c.dependencies.in("").missing[key]
	return slices.DeleteFunc(slices.Clone(c.dependencies.in(c.operator.Namespace).missing[key]), func(wants string) bool {
		return !slices.Contains(anywhere, wants)
	})
}

// hasDependencies reports whether a bundle of the mirror depends on others.
func (c pathCheck) hasDependencies(bundle string) bool {
	b := c.kept.Bundle(bundle)
	return b != nil && slices.ContainsFunc(b.Properties, func(p catalog.Property) bool {
		switch p.Type {
		case "olm.gvk.required", "olm.package.required", "olm.label.required", "olm.constraint":
			return true
		}
		return false
	})
}

// dependencyBlocks returns the blocks of an update by OLM classic to a bundle with dependencies
// that the mirror does not provide.
func (c pathCheck) dependencyBlocks(bundle string) []Block {
	if c.operator.Generation != graph.Classic || !c.hasDependencies(bundle) {
		return nil
	}
	missing := c.missing(bundle)
	var all []Block
	for _, wants := range c.dependencies.in(c.operator.Namespace).missing[bundleKey{c.catalog.Name, c.operator.Package, bundle}] {
		why := "neither the mirror nor an installed operator provides it"
		if !slices.Contains(missing, wants) {
			why = fmt.Sprintf("the mirror does not provide it, and the operator that does is not installed in namespace %s, where OLM classic looks", c.operator.Namespace)
		}
		all = append(all, Block{Kind: Dependency, Possible: true, Message: fmt.Sprintf(
			"%s needs %s; %s; OLM classic installs it only if another catalog of the cluster provides that", bundle, wants, why)})
	}
	return all
}

// installedNotes notes the dependencies of hops that only installed operators provide.
func (c pathCheck) installedNotes(hops []Hop) []string {
	var notes []string
	for _, h := range hops {
		if c.operator.Generation != graph.Classic || !c.hasDependencies(h.To) {
			continue
		}
		for _, g := range c.dependencies.in(c.operator.Namespace).installedOnly[bundleKey{c.catalog.Name, c.operator.Package, h.To}] {
			notes = append(notes, fmt.Sprintf("%s needs %s, which the mirror does not provide; the installed %s does", h.To, g.wants, g.by))
		}
	}
	return notes
}

// checkDependencies adjusts a path of OLM classic to missing dependencies. OLM classic passes over
// a bundle that cannot be installed. If that leaves no upgrade path to the head, the outcome is
// MissingDependency.
func (c pathCheck) checkDependencies(r *Path, view graph.View) {
	if c.dependencies == nil {
		return
	}
	at := slices.IndexFunc(r.Hops, func(h Hop) bool { return len(c.missing(h.To)) > 0 })
	if r.Outcome != ReachesHead || c.operator.Generation != graph.Classic || at < 0 {
		return
	}
	view.Accept = func(b *catalog.Bundle) bool { return len(c.missing(b.Name)) == 0 }
	needy := r.Hops[at].To
	if hops, ok := graph.Reachable(c.kept, c.at, r.Head, view, graph.Automatic); ok {
		r.Hops = c.hops(hops)
		r.Explanation += fmt.Sprintf("; OLM classic passes over %s, because a dependency of it is missing", needy)
		return
	}
	r.Outcome = MissingDependency
	r.Explanation = fmt.Sprintf("it reaches the head %s only if another catalog provides the dependencies of %s, which the mirror does not have", r.Head, needy)
	r.Fixes = []Fix{{Catalog: c.catalog.Name, Package: c.operator.Package, Message: "mirror the package that provides the dependency: add it to the configuration, or set dependencies: true for the catalog"}}
}
