package filter

import (
	"cmp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// repair connects y, which is a second head or stranded, to the chain. It reports whether it
// changed anything.
func (g *closure) repair(y int) bool {
	for _, x := range g.skippers[y] {
		if g.keep[x] && x != y {
			return false // an entry added in this round skips it
		}
	}
	if g.absorbs {
		if x := g.absorber(y); x >= 0 {
			g.skips[x] = append(g.skips[x], y)
			g.absorbed[y] = true
			return true
		}
	}
	if g.exact {
		return false
	}
	return g.add(g.cheapest(y), y)
}

// add keeps these entries for y.
func (g *closure) add(these []int, y int) bool {
	added := false
	for _, i := range these {
		if !g.keep[i] {
			g.keep[i], g.why[i], added = true, y, true
		}
	}
	return added
}

// cheapest returns the shortest list of entries that put y on the chain, or that make a connected
// entry skip it; among equals, the lowest.
func (g *closure) cheapest(y int) []int {
	limit := g.limit()
	var best []int
	found := false
	offer := func(path []int) {
		if !found || len(path) < len(best) {
			best, found = path, true
		}
	}
	chain := func(i int) ([]int, bool) { // the entries that are missing to have i on the chain
		at, on := g.position[i]
		if !on || at >= limit {
			return nil, false
		}
		missing := elements.Filter(g.walk[:at+1], func(j int) bool { return !g.keep[j] && j != i })
		return missing, true
	}
	if missing, ok := chain(y); ok {
		offer(missing)
	}
	from := map[int]int{y: -1}
	for level := []int{y}; len(level) > 0; {
		var next []int
		for _, i := range level {
			for _, x := range g.skippers[i] {
				if _, seen := from[x]; seen || !g.under[x] {
					continue
				}
				from[x] = i
				next = append(next, x)
			}
		}
		elements.Sort(next, func(a, b int) int { return cmp.Compare(g.level[a], g.level[b]) })
		ends := false
		for _, x := range next {
			var path []int
			for i := x; i != y; i = from[i] {
				if !g.keep[i] {
					path = append(path, i)
				}
			}
			if g.keep[x] {
				offer(path)
				ends = true
			} else if missing, ok := chain(x); ok {
				offer(append(path, missing...))
			}
		}
		if ends { // longer paths cannot be cheaper
			break
		}
		level = next
	}
	return best
}

// limit returns how far down the walk a chain can go: to the first entry that an entry of the
// chain, or another kept entry, skips.
func (g *closure) limit() int {
	lowest := len(g.walk)
	for at := 1; at < len(g.walk); at++ {
		for _, x := range g.skippers[g.walk[at]] {
			position, on := g.position[x]
			switch {
			case g.keep[x]:
				return min(at, lowest)
			case on:
				lowest = min(lowest, max(position, at))
			}
		}
		if g.absorbed[g.walk[at]] {
			return min(at, lowest)
		}
		if at >= lowest {
			return lowest
		}
	}
	return lowest
}

// absorber returns the highest kept entry x whose skipRange covers y, so that adding y to the skips
// of x makes no new edge; -1 if there is none. OLM classic does not offer a skipped entry as an
// update. So x must also update whatever y updates, or clusters below y would be stuck, unless y
// was already skipped in the original or the closure is free.
func (g *closure) absorber(y int) int {
	name, best := g.entries[y].Name, -1
	var under []bool
	for x, kept := range g.keep {
		if !kept || x == y || best >= 0 && g.level[x] < g.level[best] ||
			!g.ranges(x, name) || !g.version(y).LT(g.version(x)) {
			continue
		}
		if under == nil {
			under = g.reach(y, g.below)
		}
		if !under[x] && (g.free || len(g.skippers[y]) > 0 || g.inherits(x, y)) {
			best = x
		}
	}
	return best
}

// inherits reports whether x updates every bundle that y updates, in the catalog or not. If y
// replaces or skips a name, the skipRange of x counts only if that bundle is in the channel:
// otherwise its version is unknown.
func (g *closure) inherits(x, y int) bool {
	leads := func(bundle string) bool {
		if bundle == "" || bundle == g.entries[x].Replaces || slices.Contains(g.entries[x].Skips, bundle) {
			return true
		}
		_, present := g.number[bundle]
		return present && g.ranges(x, bundle)
	}
	return leads(g.entries[y].Replaces) && !slices.ContainsFunc(g.entries[y].Skips, func(skip string) bool { return !leads(skip) }) &&
		graph.Covers(g.entries[x], g.entries[y])
}
