package upgrade

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Neighbors returns the updates that OLM v1 makes from the bundles of a package: of a ClusterExtension
// that names no channel, and of one that names any channel of the bundle. They are sorted by their
// bundles, without duplicates and without their channel.
func Neighbors(p *catalog.Package) []graph.Hop {
	var all []graph.Hop
	add := func(u *graph.Updates, b *catalog.Bundle) {
		if h, ok := u.Step(graph.Running(b)); ok && h.To != b.Name {
			h.Channel = ""
			all = append(all, h)
		}
	}
	every := graph.NewUpdates(p, graph.View{Generation: graph.V1})
	for _, b := range p.Bundles {
		if b.VersionErr == nil {
			add(every, b)
		}
	}
	for _, ch := range p.Channels {
		own := graph.NewUpdates(p, graph.View{Generation: graph.V1, Channels: []string{ch.Name}})
		for _, e := range ch.Entries {
			if b := p.Bundle(e.Name); b != nil && b.VersionErr == nil {
				add(own, b)
			}
		}
	}
	elements.Sort(all, func(a, b graph.Hop) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	return slices.CompactFunc(all, func(a, b graph.Hop) bool { return a.From == b.From && a.To == b.To })
}

// Detours returns the bundles to which OLM v1 could be pinned between the bundles of a hop: each is an
// update of the first, and the second is an update of it. They are in the order of their versions.
func Detours(p *catalog.Package, from *catalog.Bundle, to string) []string {
	leads := func(from *catalog.Bundle, to string) bool {
		return slices.ContainsFunc(p.Channels, func(ch *catalog.Channel) bool {
			return slices.ContainsFunc(ch.Entries, func(e catalog.Entry) bool {
				return e.Name == to && graph.Edge(e, from.Name, from.Version)
			})
		})
	}
	var between []*catalog.Bundle
	for _, b := range p.Bundles {
		if b.VersionErr == nil && b.Name != from.Name && b.Name != to && leads(from, b.Name) && leads(b, to) {
			between = append(between, b)
		}
	}
	elements.Sort(between, func(a, b *catalog.Bundle) int { return a.Version.Compare(b.Version) })
	return elements.Map(between, func(b *catalog.Bundle) string { return b.Name })
}
