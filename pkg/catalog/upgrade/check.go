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
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Check checks operators against the catalogs of a mirror, each as the generation of OLM that manages
// it. The operators also count as installed side by side when dependencies are resolved. The only
// error is a ClusterVersion that is not a version.
func Check(operators []installed.Operator, catalogs []Catalog, options Options) (Report, error) {
	c, err := clusterOf(options.ClusterVersion)
	if err != nil {
		return Report{}, err
	}
	more := onlyConfigured(options.Configured, operators, catalogs)
	deps := &dependencies{catalogs: catalogs, operators: slices.Concat(operators, more), known: map[string]dependencyStatus{}}
	r := Report{ClusterVersion: options.ClusterVersion, Kubernetes: c.kubernetes(), Operators: []Result{}}
	if note := c.unknownKubernetes(); note != "" {
		r.Notes = append(r.Notes, note)
	}
	r.Platform, r.Conflicts = platformBlocks(options.Conditions), conflicts(catalogs)
	for _, o := range operators {
		a := checkOperator(o, deps, c)
		a.hold(o, options.Conditions)
		a.Unnamed = unnamedImages(o, catalogs)
		for _, other := range otherGenerations(o, operators, options.Configured, catalogs) {
			a.note(otherNote(checkOperator(other, deps, c)))
		}
		r.Operators = append(r.Operators, a)
	}
	for _, o := range more {
		a := checkOperator(o, deps, c)
		a.note(generationNote(o, a.Outcome))
		r.Operators = append(r.Operators, a)
	}
	return r, nil
}

// note adds a note, unless it is "" or already there.
func (r *Result) note(text string) {
	if text != "" && !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// checkOperator checks one operator.
func checkOperator(o installed.Operator, deps *dependencies, c cluster) Result {
	a := Result{
		Origin: o.Origin, Package: o.Package, Namespace: o.Namespace, Bundle: o.Bundle, Version: o.Version,
		Generation: o.Generation.String(), Channels: o.Channels, Outcome: Unknown, Notes: slices.Clone(o.Notes),
	}
	if o.Package == "" {
		a.Explanation = "its package is unknown, so its upgrade path cannot be checked"
		return a
	}
	catalogs := subscribed(o, deps.catalogs)
	if !slices.ContainsFunc(catalogs, func(k Catalog) bool { return k.Kept.Package(o.Package) != nil }) {
		a.Outcome, a.Explanation, a.Fixes = notMirrored(o, deps.catalogs)
		return a
	}
	at, note, ok := position(o, deps.catalogs)
	if note != "" {
		a.Notes = append(a.Notes, note)
	}
	if !ok {
		a.Explanation = "its installed version is unknown; add its ClusterServiceVersion to the input"
		return a
	}
	a.Bundle, a.Version = cmp.Or(a.Bundle, at.Name), cmp.Or(a.Version, at.Version.String())

	for _, k := range catalogs {
		if k.Kept.Package(o.Package) == nil {
			continue
		}
		p := pathCheck{operator: o, at: at, catalog: k, kept: k.Kept.Package(o.Package), source: find(k.Source, o.Package), cluster: c, dependencies: deps}
		if o.Generation == graph.V1 {
			a.Paths = append(a.Paths, p.extension())
			continue
		}
		routes := p.subscription()
		for _, r := range routes {
			a.Notes = append(a.Notes, p.installedNotes(r.Hops)...)
		}
		a.Paths = append(a.Paths, routes...)
	}
	elements.Sort(a.Paths, func(a, b Path) int { return cmp.Compare(a.Outcome.rank(), b.Outcome.rank()) })
	a.Outcome = a.Paths[0].Outcome
	worst := a.Paths[len(a.Paths)-1]
	if o.Generation == graph.Classic && len(o.Channels) == 0 && worst.Outcome == Stranded && a.Outcome != Stranded {
		a.Notes = append(a.Notes, fmt.Sprintf("its channel is unknown, and it is stranded if it follows %s; add its Subscription to the input", strandedChannels(a.Paths)))
	}
	if note := sourceNote(o, catalogs, a.Paths[0].Catalog); note != "" {
		a.Notes = append(a.Notes, note)
	}
	if note := ambiguityNote(o, at, catalogs, a.Paths[0]); note != "" {
		a.Notes = append(a.Notes, note)
	}
	a.Notes = unique(a.Notes)
	return a
}

// unique returns the notes without duplicates.
func unique(notes []string) []string {
	var all []string
	for _, n := range notes {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// ambiguityNote returns a note if several catalogs offer a bundle at some point of a path of OLM
// v1, else "".
func ambiguityNote(o installed.Operator, at graph.At, catalogs []Catalog, best Path) string {
	if o.Generation != graph.V1 || len(catalogs) < 2 {
		return ""
	}
	all := elements.Map(catalogs, func(k Catalog) extension.Catalog { return extension.Catalog{Name: k.Name, Content: k.Kept} })
	positions := []graph.At{at}
	for _, k := range catalogs {
		for _, h := range best.Hops {
			if p := k.Kept.Package(o.Package); k.Name == best.Catalog && p.Bundle(h.To) != nil {
				positions = append(positions, graph.Running(p.Bundle(h.To)))
			}
		}
	}
	for _, at := range positions {
		e := extension.Extension{
			Package: o.Package, Channels: o.Channels, Version: o.Range, SelfCertified: o.SelfCertified,
			Installed: &extension.Installed{Name: at.Name, Version: at.Version.String(), Release: at.Release},
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
		return fmt.Sprintf("several catalogs offer a bundle when %s is installed (%s); OLM v1 resolves no bundle unless the ClusterExtension's selector or the priorities of the ClusterCatalogs choose one", at.Name, strings.Join(names, ", "))
	}
	return ""
}

func strandedChannels(routes []Path) string {
	var names []string
	for _, r := range routes {
		if r.Outcome == Stranded {
			names = append(names, r.Channel)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " or ")
}
