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

// A bundleOf is a bundle of a catalog of the mirror.
type bundleOf struct{ catalog, pkg, bundle string }

// A supply is what bundles of the mirror need of others.
type supply struct {
	// lacks is what nothing provides that OLM classic could install, as the end of
	// "NAME needs".
	lacks map[bundleOf][]string
	// given is what only installed operators provide.
	given map[bundleOf][]gift
}

// A gift is a need that an installed bundle meets.
type gift struct{ wants, by string }

// supplies are the supplies of the namespaces of clusters, each found once.
type supplies struct {
	catalogs  []Catalog
	operators []installed.Operator
	known     map[string]supply
}

// running is the name of what is installed among catalogs; none of theirs has a
// blank at its end.
const running = "what is installed "

// in is the supply of a namespace: OLM classic looks for what a bundle needs among
// the operators of its own namespace, and in catalogs. "" is all namespaces.
func (s *supplies) in(namespace string) supply {
	if found, ok := s.known[namespace]; ok {
		return found
	}
	here := s.running(namespace)
	sides := []resolve.Catalog{{Name: running, Priority: math.MinInt, Kept: here, Whole: here}}
	for _, k := range s.catalogs {
		c := &catalog.Catalog{Packages: slices.Concat(k.Kept.Packages, k.Kept.Outlines)}
		sides = append(sides, resolve.Catalog{Name: k.Name, Wanted: true, Kept: c, Whole: c})
	}
	result := supply{lacks: map[bundleOf][]string{}, given: map[bundleOf][]gift{}}
	for {
		needs := resolve.Needs(sides, nil)
		for _, u := range needs.Unmet {
			for _, b := range u.Bundles {
				of := bundleOf{u.Catalog, u.Package, b}
				result.lacks[of] = append(result.lacks[of], u.Wants)
			}
		}
		if len(needs.Unmet) > 0 {
			// What cannot be installed provides nothing.
			for i := range sides[1:] {
				side := &sides[i+1]
				side.Kept = result.installable(side.Name, side.Kept)
				side.Whole = side.Kept
			}
			continue
		}
		for _, m := range needs.Met {
			if m.By.Catalog != running {
				continue
			}
			for _, b := range m.Bundles {
				of := bundleOf{m.Catalog, m.Package, b}
				result.given[of] = append(result.given[of], gift{m.Wants, m.By.Bundle})
			}
		}
		s.known[namespace] = result
		return result
	}
}

// installable is a catalog without the bundles that lack something.
func (s supply) installable(name string, c *catalog.Catalog) *catalog.Catalog {
	left := &catalog.Catalog{}
	for _, p := range c.Packages {
		gone := func(b *catalog.Bundle) bool { return len(s.lacks[bundleOf{name, p.Name, b.Name}]) > 0 }
		if slices.ContainsFunc(p.Bundles, gone) {
			less := *p
			less.Bundles = slices.DeleteFunc(slices.Clone(p.Bundles), gone)
			p = &less
		}
		left.Packages = append(left.Packages, p)
	}
	return left
}

// running are the operators that OLM classic has installed in a namespace, those
// whose namespace is not known included, as a catalog.
func (s *supplies) running(namespace string) *catalog.Catalog {
	const channel = "installed"
	c := &catalog.Catalog{}
	for _, o := range s.operators {
		if o.Generation != graph.Classic || o.Package == "" || namespace != "" && o.Namespace != "" && o.Namespace != namespace {
			continue
		}
		at, _, ok := position(o, s.catalogs)
		if !ok || at.Name == "" {
			continue
		}
		b := &catalog.Bundle{Package: o.Package, Name: at.Name, Version: at.Version, Release: at.Release}
		for _, k := range s.catalogs {
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

// lacks is what a bundle needs that neither the mirror nor any operator provides
// that is known to be installed; it is for OLM classic.
func (t trip) lacks(bundle string) []string {
	if !t.needy(bundle) {
		return nil
	}
	of := bundleOf{t.catalog.Name, t.operator.Package, bundle}
	anywhere := t.supplies.in("").lacks[of]
	return slices.DeleteFunc(slices.Clone(t.supplies.in(t.operator.Namespace).lacks[of]), func(wants string) bool {
		return !slices.Contains(anywhere, wants)
	})
}

// needy reports whether a bundle of the mirror needs anything of others.
func (t trip) needy(bundle string) bool {
	b := t.kept.Bundle(bundle)
	return b != nil && slices.ContainsFunc(b.Properties, func(p catalog.Property) bool {
		switch p.Type {
		case "olm.gvk.required", "olm.package.required", "olm.label.required", "olm.constraint":
			return true
		}
		return false
	})
}

// dependencies says what stands against an update of OLM classic since the mirror
// does not provide what the bundle needs.
func (t trip) dependencies(bundle string) []Block {
	if t.operator.Generation != graph.Classic || !t.needy(bundle) {
		return nil
	}
	lacks := t.lacks(bundle)
	var all []Block
	for _, wants := range t.supplies.in(t.operator.Namespace).lacks[bundleOf{t.catalog.Name, t.operator.Package, bundle}] {
		why := "neither the mirror nor what is known to be installed provides that"
		if !slices.Contains(lacks, wants) {
			why = fmt.Sprintf("the mirror does not provide that, and what is installed of it is not in namespace %s, where OLM classic looks", t.operator.Namespace)
		}
		all = append(all, Block{Kind: Dependency, May: true, Message: fmt.Sprintf(
			"%s needs %s; %s: OLM classic installs it only if another catalog of the cluster does", bundle, wants, why)})
	}
	return all
}

// borrowed are notes on what the bundles that hops lead to need, and get from
// installed operators alone.
func (t trip) borrowed(hops []Hop) []string {
	var notes []string
	for _, h := range hops {
		if t.operator.Generation != graph.Classic || !t.needy(h.To) {
			continue
		}
		for _, g := range t.supplies.in(t.operator.Namespace).given[bundleOf{t.catalog.Name, t.operator.Package, h.To}] {
			notes = append(notes, fmt.Sprintf("%s needs %s, which the mirror does not provide; the installed %s does", h.To, g.wants, g.by))
		}
	}
	return notes
}

// depend is about what the updates of OLM classic need. It passes over a bundle
// that cannot be installed; where that is no way to the head, somebody has to
// provide what is lacking.
func (t trip) depend(r *Route, view graph.View) {
	at := slices.IndexFunc(r.Hops, func(h Hop) bool { return len(t.lacks(h.To)) > 0 })
	if r.Outcome != Reaches || t.operator.Generation != graph.Classic || at < 0 {
		return
	}
	view.Accept = func(b *catalog.Bundle) bool { return len(t.lacks(b.Name)) == 0 }
	needy := r.Hops[at].To
	if hops, ok := graph.Reachable(t.kept, t.at, r.Head, view, graph.Automatic); ok {
		r.Hops = t.hops(hops)
		r.Why += fmt.Sprintf(", not by way of %s, which needs what nothing provides", needy)
		return
	}
	r.Outcome = Lacking
	r.Why = fmt.Sprintf("it gets to the head %s only if something provides what %s needs, and the mirror does not", r.Head, needy)
	r.Mends = []Mend{{Catalog: t.catalog.Name, Package: t.operator.Package, Message: "mirror what provides it: name its package in the configuration, or set dependencies: true for the catalog"}}
}
