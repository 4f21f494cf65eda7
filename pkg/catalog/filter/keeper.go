package filter

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

var generations = [...]graph.Generation{graph.Classic, graph.V1}

// An olmView is a package, or some of its channels, as one generation of OLM sees it.
type olmView struct {
	*graph.Updates
	// named has no skipRanges. It is for installed operators without a known version.
	named func() *graph.Updates
	pkg   *catalog.Package
}

// view returns OLM's view of channels of the package.
func (s *selection) view(g graph.Generation, channels ...*catalog.Channel) olmView {
	p := &catalog.Package{
		Name: s.pkg.Name, DefaultChannel: s.pkg.DefaultChannel, Channels: channels,
		Bundles: s.pkg.Bundles, Deprecations: s.pkg.Deprecations,
	}
	v := graph.View{Generation: g}
	return olmView{pkg: p, Updates: graph.NewUpdates(p, v), named: func() *graph.Updates {
		bare := *p
		bare.Channels = nil
		for _, ch := range p.Channels {
			subset := catalog.Channel{Name: ch.Name, Entries: slices.Clone(ch.Entries)}
			for i := range subset.Entries {
				subset.Entries[i].SkipRange = ""
			}
			bare.Channels = append(bare.Channels, &subset)
		}
		return graph.NewUpdates(&bare, v)
	}}
}

// walk returns the updates that OLM makes automatically, one after the other.
func (v olmView) walk(from start) []graph.Hop {
	if from.versioned {
		return v.Walk(from.at)
	}
	hop, ok := v.named().Step(from.at)
	if !ok {
		return nil
	}
	return append([]graph.Hop{hop}, v.Walk(graph.Running(v.pkg.Bundle(hop.To)))...)
}

// reaches reports whether OLM automatically leads a cluster to the bundle.
func (v olmView) reaches(from start, to string) bool {
	return from.at.Name == to || passes(v.walk(from), to)
}

func passes(hops []graph.Hop, to string) bool {
	return slices.ContainsFunc(hops, func(h graph.Hop) bool { return h.To == to })
}

// keepPaths adds the entries that clusters need to reach the head of the channel, as far as the
// original has a path. It reports whether it added any.
func (s *selection) keepPaths(w *draft, c *channel, k subset) bool {
	g := &pathKeeper{
		selection: s, draft: w, c: c, k: k, top: c.number[w.head],
		all: &catalog.Channel{Name: w.Name, Entries: c.entries},
	}
	keeps := func(from start) bool {
		return from.follows(w.Name) && (g.keepInstalledPath(graph.Classic, from) || g.keepInstalledPath(graph.V1, from))
	}
	return slices.ContainsFunc(s.starts, keeps) || !w.exact && !w.plain() && !g.alwaysHigher() && g.keepOthers()
}

// A pathKeeper is the state of keepPaths.
type pathKeeper struct {
	*selection
	*draft
	c   *channel
	k   subset
	top int // the head
	all *catalog.Channel
}

// keepInstalledPath adds the entries that an installed operator needs to reach the head.
func (g *pathKeeper) keepInstalledPath(gen graph.Generation, from start) bool {
	walk := g.view(gen, g.filtered).walk(from)
	if from.at.Name == g.head || passes(walk, g.head) {
		return false
	}
	why := Entry{Reason: Installed, For: from.label}
	for _, along := range g.c.routes(g.top, gen) {
		if path, ok := g.c.cheapest(g.c.updatesFor(from), g.top, g.k.keep, along); ok {
			if g.keep(path, why) {
				return true
			}
			break
		}
	}
	// OLM does not follow the path that exists. It may follow the original path, or one on which
	// every version is higher.
	all := g.view(gen, g.all)
	if hops := all.walk(from); passes(hops, g.head) && g.keepHops(hops, why) {
		return true
	}
	if len(walk) == 0 {
		return false
	}
	at := g.c.number[walk[len(walk)-1].To]
	alwaysHigher := route{func(int) bool { return true }, func(from, x int) bool {
		return g.c.updates(from, x) && g.c.version(x).GT(g.c.version(from))
	}}
	path, ok := g.c.cheapest(g.c.next(at, alwaysHigher), g.top, g.k.keep, alwaysHigher)
	return ok && g.keep(path, why)
}

// keepOthers covers every bundle that is kept, or that a kept entry names, and that OLM v1
// automatically led to the head: it still does. A cluster is trapped if all kept updates of a
// bundle have lower versions, as in chains that are not ordered by version. OLM classic needs no
// such check: in a valid channel every update leads to the head.
func (g *pathKeeper) keepOthers() bool {
	kept := g.view(graph.V1, g.filtered)
	leads := map[string]bool{g.head: true} // by kept bundle
	traps := map[string]bool{}
	for _, e := range g.filtered.Entries {
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
	all := g.view(graph.V1, g.all)
	for _, name := range g.promised() {
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

// alwaysHigher reports whether every kept entry except the head has an update with a higher
// version, so that OLM v1 cannot stop before the head. This is the common case.
func (g *pathKeeper) alwaysHigher() bool {
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

// promised returns the names of the bundles that are kept or that kept entries replace or skip. A
// dropped bundle that only a skipRange covers is not included: its version is unknown once it is
// dropped, and filtering the result again would not find it.
func (g *pathKeeper) promised() []string {
	seen := map[string]bool{"": true}
	var names []string
	for _, e := range g.filtered.Entries {
		for _, name := range append([]string{e.Name, e.Replaces}, e.Skips...) {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// running returns a cluster that runs the named bundle.
func (s *selection) running(name string) start {
	if b := s.pkg.Bundle(name); b != nil && b.VersionErr == nil {
		return start{at: graph.Running(b), versioned: true}
	}
	from := start{at: graph.At{Name: name}}
	from.at.Version, from.versioned = versionIn(name)
	return from
}

// keepHops keeps the targets of the hops, up to the head.
func (g *pathKeeper) keepHops(hops []graph.Hop, why Entry) bool {
	var path []int
	for _, hop := range hops {
		path = append(path, g.c.number[hop.To])
		if hop.To == g.head {
			break
		}
	}
	return g.keep(path, why)
}

// keep keeps entries, and reports whether any of them is new.
func (g *pathKeeper) keep(path []int, why Entry) bool {
	added := false
	for _, i := range path {
		if !g.k.keep[i] {
			why.Name = g.c.entries[i].Name
			g.extra[g.position[i]] = why
			added = true
		}
	}
	return added
}

// updatesFor returns the entries that update the installed operator.
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

// next returns the entries that the route leads to from an entry.
func (c *channel) next(from int, along route) []int {
	var next []int
	for x := range c.entries {
		if along.may(x) && along.leads(from, x) {
			next = append(next, x)
		}
	}
	return next
}
