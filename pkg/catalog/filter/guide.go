package filter

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

var generations = [...]graph.Generation{graph.Classic, graph.V1}

// A sight is what a cluster of one generation sees of a package, or of a channel
// of it.
type sight struct {
	*graph.Updates
	// named is the same without skipRanges, for clusters of which no version is
	// known.
	named func() *graph.Updates
	pkg   *catalog.Package
}

// see looks at channels of the package.
func (s *selection) see(g graph.Generation, channels ...*catalog.Channel) sight {
	p := &catalog.Package{
		Name: s.pkg.Name, DefaultChannel: s.pkg.DefaultChannel, Channels: channels,
		Bundles: s.pkg.Bundles, Deprecations: s.pkg.Deprecations,
	}
	v := graph.View{Generation: g}
	return sight{pkg: p, Updates: graph.NewUpdates(p, v), named: func() *graph.Updates {
		bare := *p
		bare.Channels = nil
		for _, ch := range p.Channels {
			cut := catalog.Channel{Name: ch.Name, Entries: slices.Clone(ch.Entries)}
			for i := range cut.Entries {
				cut.Entries[i].SkipRange = ""
			}
			bare.Channels = append(bare.Channels, &cut)
		}
		return graph.NewUpdates(&bare, v)
	}}
}

// walk is every update that OLM makes by itself.
func (v sight) walk(from start) []graph.Hop {
	if from.versioned {
		return v.Walk(from.at)
	}
	hop, ok := v.named().Step(from.at)
	if !ok {
		return nil
	}
	return append([]graph.Hop{hop}, v.Walk(graph.Running(v.pkg.Bundle(hop.To)))...)
}

// gets reports whether OLM by itself leads a cluster to the bundle.
func (v sight) gets(from start, to string) bool {
	return from.at.Name == to || passes(v.walk(from), to)
}

func passes(hops []graph.Hop, to string) bool {
	return slices.ContainsFunc(hops, func(h graph.Hop) bool { return h.To == to })
}

// guide adds what clusters need to get to the head of the channel, each by
// itself, as far as the original has a way. It reports whether anything was
// added.
func (s *selection) guide(w *work, c *channel, k cut) bool {
	g := &guiding{
		selection: s, work: w, c: c, k: k, top: c.number[w.head],
		all: &catalog.Channel{Name: w.Name, Entries: c.entries},
	}
	for _, from := range s.starts {
		if from.follows(w.Name) && (g.lead(graph.Classic, from) || g.lead(graph.V1, from)) {
			return true
		}
	}
	return !w.exact && !w.plain() && !g.rising() && g.keepOn()
}

// guiding is the state of guide.
type guiding struct {
	*selection
	*work
	c   *channel
	k   cut
	top int // the head
	all *catalog.Channel
}

// lead adds what an installed operator needs.
func (g *guiding) lead(gen graph.Generation, from start) bool {
	walk := g.see(gen, g.keeps).walk(from)
	if from.at.Name == g.head || passes(walk, g.head) {
		return false
	}
	why := Entry{Reason: Installed, For: from.label}
	for _, along := range g.c.routes(g.top, gen) {
		if way, ok := g.c.cheapest(g.c.updatesFor(from), g.top, g.k.keep, along); ok {
			if g.keep(way, why) {
				return true
			}
			break
		}
	}
	// There is a way, and OLM does not take it. It may take the one of the
	// original, or one that only leads up.
	all := g.see(gen, g.all)
	if hops := all.walk(from); passes(hops, g.head) && g.keepHops(hops, why) {
		return true
	}
	if len(walk) == 0 {
		return false
	}
	at := g.c.number[walk[len(walk)-1].To]
	rising := route{func(int) bool { return true }, func(from, x int) bool {
		return g.c.updates(from, x) && g.c.version(x).GT(g.c.version(from))
	}}
	way, ok := g.c.cheapest(g.c.next(at, rising), g.top, g.k.keep, rising)
	return ok && g.keep(way, why)
}

// keepOn holds what is promised to all others: whoever was led to the head by
// OLM v1 itself, and is kept or named by an entry that is kept, still is. A
// cluster would be trapped where all updates of a kept bundle have lower
// versions, as in chains that are not in the order of versions. In OLM classic
// whatever is an update in a whole channel leads to its head.
func (g *guiding) keepOn() bool {
	kept := g.see(graph.V1, g.keeps)
	leads := map[string]bool{g.head: true} // by kept bundle
	traps := map[string]bool{}
	for _, e := range g.keeps.Entries {
		if _, known := g.versions[e.Name]; !known || leads[e.Name] {
			continue
		}
		walk := kept.Walk(g.running(e.Name).at)
		at := slices.IndexFunc(walk, func(h graph.Hop) bool { return leads[h.To] })
		if at < 0 {
			traps[e.Name] = true
			continue
		}
		for _, hop := range walk[:at+1] {
			leads[hop.From] = true
		}
	}
	if len(traps) == 0 {
		return false
	}
	all := g.see(graph.V1, g.all)
	for _, name := range g.names() {
		from, trap := g.running(name), name
		if !traps[name] {
			walk := kept.walk(from)
			if len(walk) == 0 || !traps[walk[0].To] {
				continue
			}
			trap = walk[0].To
		}
		hops := all.walk(from)
		if passes(hops, g.head) && g.keepHops(hops, Entry{Reason: Continuity, For: trap}) {
			return true
		}
	}
	return false
}

// rising reports whether every kept entry but the head has an update of a higher
// version, so that OLM v1 cannot stop on the way: the plain case.
func (g *guiding) rising() bool {
	for i, kept := range g.k.keep {
		if kept && i != g.top && !slices.ContainsFunc(g.c.above[i], func(x int) bool {
			return g.k.keep[x] && g.c.version(x).GT(g.c.version(i))
		}) {
			return false
		}
	}
	return !slices.ContainsFunc(g.pkg.Deprecations, func(d *catalog.Deprecations) bool {
		return slices.ContainsFunc(d.Entries, func(e catalog.Deprecation) bool { return e.Schema == catalog.SchemaBundle })
	})
}

// names are those of the bundles that are kept, and that kept entries replace or
// skip. Who is led on by a skipRange alone is not known once he is gone, and
// would be forgotten when the result is filtered again.
func (g *guiding) names() []string {
	seen := map[string]bool{"": true}
	var names []string
	for _, e := range g.keeps.Entries {
		for _, name := range append([]string{e.Name, e.Replaces}, e.Skips...) {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// running is a cluster that runs the bundle of that name.
func (s *selection) running(name string) start {
	if b := s.pkg.Bundle(name); b != nil && b.VersionErr == nil {
		return start{at: graph.Running(b), versioned: true}
	}
	from := start{at: graph.At{Name: name}}
	from.at.Version, from.versioned = versionIn(name)
	return from
}

// keepHops keeps where hops lead, up to the head.
func (g *guiding) keepHops(hops []graph.Hop, why Entry) bool {
	var way []int
	for _, hop := range hops {
		way = append(way, g.c.number[hop.To])
		if hop.To == g.head {
			break
		}
	}
	return g.keep(way, why)
}

// keep keeps entries, and reports whether any of them is new.
func (g *guiding) keep(way []int, why Entry) bool {
	added := false
	for _, i := range way {
		if !g.k.keep[i] {
			why.Name = g.c.entries[i].Name
			g.also[g.place[i]] = why
			added = true
		}
	}
	return added
}

// updatesFor are the entries that are an update for what is installed.
func (c *channel) updatesFor(from start) []int {
	var updates []int
	for i, e := range c.entries {
		if !from.versioned {
			e.SkipRange = ""
		}
		if e.Name != from.at.Name && graph.Edge(e, from.at.Name, from.at.Version) {
			updates = append(updates, i)
		}
	}
	return updates
}

// next are the entries that a route leads on to.
func (c *channel) next(from int, along route) []int {
	var next []int
	for x := range c.entries {
		if along.may(x) && along.leads(from, x) {
			next = append(next, x)
		}
	}
	return next
}
