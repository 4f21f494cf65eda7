package filter

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// addUpdates looks for kept entries that no entry of the replaces chain updates. OLM classic never
// offers a skipped entry as an update, so a cluster that runs such an entry would be stuck. If the
// chain can be extended to an entry that updates it, that part is added, and added is true. ok is
// false if only a higher head would help, as in the original.
func (g *closure) addUpdates(shape graph.Shape) (added, ok bool) {
	updated := make([]bool, len(g.entries))
	for _, name := range shape.Chain {
		i := g.number[name]
		updated[i] = true
		for _, y := range slices.Concat(g.below[i], g.skips[i]) {
			updated[y] = true
		}
	}
	updates := func(x, y int) bool { return slices.Contains(g.below[x], y) || g.ranges(x, g.entries[y].Name) }
	limit := g.limit()
next:
	for y, kept := range g.keep {
		if !kept || updated[y] || g.hopeless[y] {
			continue
		}
		for at, x := range g.walk[:limit] {
			if updates(x, y) {
				if g.add(g.walk[:at+1], y) {
					return true, true
				}
				continue next
			}
		}
		for _, x := range g.chain {
			if x != y && updates(x, y) {
				return false, false
			}
		}
		g.hopeless[y] = true // no update in the original either
	}
	return false, true
}

// connect looks for kept entries without any path to the head, as where two entries skip each other
// and the entry that leads out of the cycle is dropped. It adds the shortest path of the original,
// and reports whether it added one.
func (g *closure) connect() bool {
	connected := g.connected()
	for y, kept := range g.keep {
		if kept && !connected[y] && g.add(g.path(y, connected), y) {
			return true
		}
	}
	return false
}

// connected returns the kept entries that have a path to the head over kept entries.
func (g *closure) connected() []bool {
	connected := make([]bool, len(g.entries))
	connected[g.head] = true
	for queue := []int{g.head}; len(queue) > 0; {
		x := queue[0]
		queue = queue[1:]
		for _, y := range slices.Concat(g.below[x], g.skips[x]) {
			if g.keep[y] && !connected[y] {
				connected[y] = true
				queue = append(queue, y)
			}
		}
		if len(queue) > 0 {
			continue
		}
		for y, kept := range g.keep { // skipRanges last: they cost more
			if kept && !connected[y] && g.updates(y, connected) {
				connected[y] = true
				queue = append(queue, y)
			}
		}
	}
	return connected
}

// updates reports whether the skipRange of one of these covers y.
func (g *closure) updates(y int, these []bool) bool {
	for x, in := range these {
		if in && g.ranges(x, g.entries[y].Name) {
			return true
		}
	}
	return false
}

// path returns the shortest list of entries that lead from y to one of the goals, nil if there is
// no path.
func (g *closure) path(y int, goals []bool) []int {
	from := map[int]int{y: -1}
	for queue := []int{y}; len(queue) > 0; {
		i := queue[0]
		queue = queue[1:]
		for x := range g.entries {
			if _, seen := from[x]; seen || !slices.Contains(g.above[i], x) && !g.ranges(x, g.entries[i].Name) {
				continue
			}
			from[x] = i
			if !goals[x] {
				queue = append(queue, x)
				continue
			}
			var path []int
			for i != y {
				path = append(path, i)
				i = from[i]
			}
			return path
		}
	}
	return nil
}
