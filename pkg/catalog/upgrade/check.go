package upgrade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
)

// Check answers for operators against the catalogs of a mirror. The error is a
// ClusterVersion that cannot be read.
func Check(operators []installed.Operator, catalogs []Catalog, options Options) (Report, error) {
	c, err := clusterOf(options.ClusterVersion)
	if err != nil {
		return Report{}, err
	}
	r := Report{ClusterVersion: options.ClusterVersion, Kubernetes: c.kubernetes(), Operators: []Answer{}}
	for _, o := range operators {
		r.Operators = append(r.Operators, answer(o, catalogs, c))
	}
	return r, nil
}

// answer is about one operator.
func answer(o installed.Operator, catalogs []Catalog, c cluster) Answer {
	a := Answer{
		Origin: o.Origin, Package: o.Package, Namespace: o.Namespace, Bundle: o.Bundle, Version: o.Version,
		Generation: o.Generation.String(), Channels: o.Channels, Outcome: Unknown, Notes: slices.Clone(o.Notes),
	}
	if o.Package == "" {
		a.Why = "its package is not known, so that nothing can be said of it"
		return a
	}
	if !slices.ContainsFunc(catalogs, func(k Catalog) bool { return k.Kept.Package(o.Package) != nil }) {
		a.Outcome = NotMirrored
		a.Why, a.Mends = notMirrored(o, catalogs)
		return a
	}
	at, note, ok := position(o, catalogs)
	if note != "" {
		a.Notes = append(a.Notes, note)
	}
	if !ok {
		a.Why = "the version that is installed is not known: give its ClusterServiceVersion, too"
		return a
	}
	a.Bundle, a.Version = cmp.Or(a.Bundle, at.Name), cmp.Or(a.Version, at.Version.String())

	having := 0
	for _, k := range catalogs {
		if k.Kept.Package(o.Package) == nil {
			continue
		}
		having++
		t := trip{operator: o, at: at, catalog: k, kept: k.Kept.Package(o.Package), source: find(k.Source, o.Package), cluster: c}
		if o.Generation == graph.V1 {
			a.Routes = append(a.Routes, t.extension())
		} else {
			a.Routes = append(a.Routes, t.subscription()...)
		}
	}
	slices.SortStableFunc(a.Routes, func(a, b Route) int { return cmp.Compare(a.Outcome.rank(), b.Outcome.rank()) })
	a.Outcome = a.Routes[0].Outcome
	worst := a.Routes[len(a.Routes)-1]
	if o.Generation == graph.Classic && len(o.Channels) == 0 && worst.Outcome == Stranded && a.Outcome != Stranded {
		a.Notes = append(a.Notes, fmt.Sprintf("the channel that it follows is not known, and it is stranded if that is %s; give its Subscription, too", strandedChannels(a.Routes)))
	}
	if having > 1 && o.Generation == graph.V1 {
		a.Notes = append(a.Notes, fmt.Sprintf("%d catalogs have the package; OLM v1 resolves nothing unless the ClusterExtension's selector or the priorities of the ClusterCatalogs choose one", having))
	}
	return a
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

// find is the package of a catalog, which may be outlined.
func find(c *catalog.Catalog, name string) *catalog.Package {
	if c == nil {
		return nil
	}
	if p := c.Package(name); p != nil {
		return p
	}
	for _, p := range c.Outlines {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// position is where an operator stands. Its version is what the cluster says,
// else what a catalog says of the bundle, else what the bundle's name ends with;
// a note says if it is the last. Where only the version is known, its name is that
// of a bundle of that version, since most edges go by names.
func position(o installed.Operator, catalogs []Catalog) (at graph.At, note string, ok bool) {
	at = graph.At{Name: o.Bundle, Release: o.Release}
	v, err := semver.Parse(o.Version)
	if err == nil && o.Bundle != "" {
		at.Version = v
		return at, "", true
	}
	for _, k := range catalogs {
		for _, c := range []*catalog.Catalog{k.Source, k.Kept} {
			p := find(c, o.Package)
			if p == nil {
				continue
			}
			if o.Bundle == "" {
				if bundles := graph.OfVersion(p, v); err == nil && len(bundles) > 0 {
					return graph.Running(bundles[0]), "", true
				}
			} else if b := p.Bundle(o.Bundle); b != nil && b.VersionErr == nil {
				return graph.Running(b), "", true
			}
		}
	}
	if err == nil {
		at.Version = v
		return at, "no catalog has the version that is installed, so that only ranges of versions can lead on", true
	}
	for i := range len(o.Bundle) {
		if o.Bundle[i] != '.' {
			continue
		}
		if v, err := semver.Parse(strings.TrimPrefix(o.Bundle[i+1:], "v")); err == nil {
			at.Version = v
			return at, fmt.Sprintf("its version is not known but by its name: %s", v), true
		}
	}
	return at, "", false
}
