package filter

import (
	"cmp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// A route limits the paths among the entries of a channel.
type route struct {
	may   func(x int) bool       // may be on a path
	leads func(from, x int) bool // x is an update for from
}

// routes returns the routes to try, in order. In OLM classic no path leads over an entry that
// something below the head skips. A path of replaces and skips below the head needs no other head.
func (c *channel) routes(head int, g graph.Generation) []route {
	under := c.reach(head, c.below)
	below := func(x int) bool { return under[x] }
	offered := func(x int) bool {
		return x == head || under[x] && !slices.ContainsFunc(c.skippers[x], below)
	}
	anywhere := func(int) bool { return true }
	routes := []route{{below, c.updates}, {anywhere, c.updates}}
	if g == graph.Classic {
		routes = slices.Insert(routes, 0, route{offered, c.updates})
	}
	return routes
}

// updates reports whether x is an update for an entry.
func (c *channel) updates(from, x int) bool {
	return from != x && (slices.Contains(c.above[from], x) || c.ranges(x, c.entries[from].Name))
}

// cheapest returns the path from one of the first entries to the head that adds the fewest entries
// to the kept ones, and among these the shortest: all its entries, the first and the head included.
// ok is false if there is no path.
func (c *channel) cheapest(first []int, head int, kept []bool, along route) (path []int, ok bool) {
	type cost struct{ added, hops int }
	compare := func(a, b cost) int {
		return cmp.Or(cmp.Compare(a.added, b.added), cmp.Compare(a.hops, b.hops))
	}
	const unseen, open, done = 0, 1, 2
	state, costs, from := make([]int, len(c.entries)), make([]cost, len(c.entries)), make([]int, len(c.entries))
	offer := func(x, by int, base cost) {
		next := cost{base.added, base.hops + 1}
		if !kept[x] {
			next.added++
		}
		if state[x] == unseen || state[x] == open && compare(next, costs[x]) < 0 {
			state[x], costs[x], from[x] = open, next, by
		}
	}
	for _, x := range first {
		if along.may(x) {
			offer(x, -1, cost{})
		}
	}
	for {
		best := -1
		for x, s := range state { // among equals the highest, like OLM
			if s == open && (best < 0 || cmp.Or(compare(costs[x], costs[best]), cmp.Compare(c.level[best], c.level[x])) < 0) {
				best = x
			}
		}
		if best < 0 {
			return nil, false
		}
		if state[best] = done; best == head {
			for x := head; x >= 0; x = from[x] {
				path = append(path, x)
			}
			slices.Reverse(path)
			return path, true
		}
		for x := range c.entries {
			if state[x] != done && along.may(x) && along.leads(best, x) {
				offer(x, best, costs[best])
			}
		}
	}
}
