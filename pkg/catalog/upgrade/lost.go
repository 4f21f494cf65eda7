package upgrade

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
)

// Lost returns the operators that reach the head of their channel in a catalog and do not in the one that replaces it,
// as Replace compares them. Operators of packages that the replaced catalog does not have are not lost. An operator of
// OLM classic whose channel is unknown is lost if it is in every channel that has its bundle.
func Lost(before *catalog.Catalog, after Catalog, operators []installed.Operator) []installed.Operator {
	packages := map[string]*replacedPackage{}
	var lost []installed.Operator
	for _, o := range operators {
		p := before.Package(o.Package)
		if p == nil {
			continue
		}
		q := after.Kept.Package(o.Package)
		if q == nil {
			lost = append(lost, o)
			continue
		}
		if packages[o.Package] == nil {
			r := newReplacedPackage(p, q, after)
			packages[o.Package] = &r
		}
		if packages[o.Package].isLost(o) {
			lost = append(lost, o)
		}
	}
	return lost
}

// isLost reports whether an operator reached the head and is stranded now.
func (r *replacedPackage) isLost(o installed.Operator) bool {
	b := bundleOf(r.was, o)
	if b == nil {
		return false // the replaced catalog did not have it either
	}
	stranded := func(channel string) bool {
		p := r.lost(operatorOf(b, o.Generation, channel))
		return p != nil && p.outcome == Stranded
	}
	channels := o.Channels
	if len(channels) == 0 && o.Generation == graph.Classic {
		for _, ch := range r.was.Channels {
			if hasEntry(ch, b.Name) {
				channels = append(channels, ch.Name)
			}
		}
	}
	if len(channels) == 0 {
		return o.Generation == graph.V1 && stranded("")
	}
	return !slices.ContainsFunc(channels, func(name string) bool { return !stranded(name) })
}

// bundleOf returns the bundle of a package that an operator runs, nil if the package does not have it.
func bundleOf(p *catalog.Package, o installed.Operator) *catalog.Bundle {
	if o.Bundle != "" {
		return p.Bundle(o.Bundle)
	}
	for _, b := range p.Bundles {
		if b.VersionErr == nil && b.Version.String() == o.Version {
			return b
		}
	}
	return nil
}

func hasEntry(ch *catalog.Channel, name string) bool {
	return slices.ContainsFunc(ch.Entries, func(e catalog.Entry) bool { return e.Name == name })
}
