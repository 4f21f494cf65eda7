package upgrade

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
)

// Check answers for operators against the catalogs of a mirror. The operators are
// also what is known to be installed beside each other. The error is a
// ClusterVersion that cannot be read.
func Check(operators []installed.Operator, catalogs []Catalog, options Options) (Report, error) {
	c, err := clusterOf(options.ClusterVersion)
	if err != nil {
		return Report{}, err
	}
	s := &supplies{catalogs: catalogs, operators: operators, known: map[string]supply{}}
	r := Report{ClusterVersion: options.ClusterVersion, Kubernetes: c.kubernetes(), Operators: []Answer{}}
	for _, o := range operators {
		r.Operators = append(r.Operators, answer(o, s, c))
	}
	return r, nil
}

// answer is about one operator.
func answer(o installed.Operator, s *supplies, c cluster) Answer {
	a := Answer{
		Origin: o.Origin, Package: o.Package, Namespace: o.Namespace, Bundle: o.Bundle, Version: o.Version,
		Generation: o.Generation.String(), Channels: o.Channels, Outcome: Unknown, Notes: slices.Clone(o.Notes),
	}
	if o.Package == "" {
		a.Why = "its package is not known, so that nothing can be said of it"
		return a
	}
	catalogs := subscribed(o, s.catalogs)
	if !slices.ContainsFunc(catalogs, func(k Catalog) bool { return k.Kept.Package(o.Package) != nil }) {
		a.Outcome, a.Why, a.Mends = absent(o, s.catalogs)
		return a
	}
	at, note, ok := position(o, s.catalogs)
	if note != "" {
		a.Notes = append(a.Notes, note)
	}
	if !ok {
		a.Why = "the version that is installed is not known: give its ClusterServiceVersion, too"
		return a
	}
	a.Bundle, a.Version = cmp.Or(a.Bundle, at.Name), cmp.Or(a.Version, at.Version.String())

	for _, k := range catalogs {
		if k.Kept.Package(o.Package) == nil {
			continue
		}
		t := trip{operator: o, at: at, catalog: k, kept: k.Kept.Package(o.Package), source: find(k.Source, o.Package), cluster: c, supplies: s}
		if o.Generation == graph.V1 {
			a.Routes = append(a.Routes, t.extension())
			continue
		}
		routes := t.subscription()
		for _, r := range routes {
			a.Notes = append(a.Notes, t.borrowed(r.Hops)...)
		}
		a.Routes = append(a.Routes, routes...)
	}
	slices.SortStableFunc(a.Routes, func(a, b Route) int { return cmp.Compare(a.Outcome.rank(), b.Outcome.rank()) })
	a.Outcome = a.Routes[0].Outcome
	worst := a.Routes[len(a.Routes)-1]
	if o.Generation == graph.Classic && len(o.Channels) == 0 && worst.Outcome == Stranded && a.Outcome != Stranded {
		a.Notes = append(a.Notes, fmt.Sprintf("the channel that it follows is not known, and it is stranded if that is %s; give its Subscription, too", strandedChannels(a.Routes)))
	}
	if note := moved(o, catalogs, a.Routes[0].Catalog); note != "" {
		a.Notes = append(a.Notes, note)
	}
	if note := ambiguous(o, at, catalogs, a.Routes[0]); note != "" {
		a.Notes = append(a.Notes, note)
	}
	a.Notes = unique(a.Notes)
	return a
}

// unique leaves out what was said before.
func unique(notes []string) []string {
	var all []string
	for _, n := range notes {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// ambiguous is a note on a route of OLM v1 on which several catalogs offer a
// bundle, at some point of it.
func ambiguous(o installed.Operator, at graph.At, catalogs []Catalog, best Route) string {
	if o.Generation != graph.V1 || len(catalogs) < 2 {
		return ""
	}
	var all []extension.Catalog
	for _, k := range catalogs {
		all = append(all, extension.Catalog{Name: k.Name, Content: k.Kept})
	}
	places := []graph.At{at}
	for _, k := range catalogs {
		for _, h := range best.Hops {
			if p := k.Kept.Package(o.Package); k.Name == best.Catalog && p.Bundle(h.To) != nil {
				places = append(places, graph.Running(p.Bundle(h.To)))
			}
		}
	}
	for _, place := range places {
		e := extension.Extension{
			Package: o.Package, Channels: o.Channels, Version: o.Range, SelfCertified: o.SelfCertified,
			Installed: &extension.Installed{Name: place.Name, Version: place.Version.String(), Release: place.Release},
		}
		_, err := extension.Resolve(e, all)
		refused := (*extension.Error)(nil)
		if !errors.As(err, &refused) || refused.Reason != extension.Ambiguous {
			continue
		}
		var names []string
		for _, c := range refused.Considered {
			if c.Bundle != "" {
				names = append(names, c.Catalog)
			}
		}
		return fmt.Sprintf("to who runs %s several catalogs offer a bundle (%s); OLM v1 resolves nothing unless the ClusterExtension's selector or the priorities of the ClusterCatalogs choose one", place.Name, strings.Join(names, ", "))
	}
	return ""
}

func strandedChannels(routes []Route) string {
	var names []string
	for _, r := range routes {
		if r.Outcome == Stranded {
			names = append(names, r.Channel)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " or ")
}
