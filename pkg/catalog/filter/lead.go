package filter

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// lead looks at a cut that OLM accepts for entries that no entry of the chain is
// an update for. A skipped entry is never an update in OLM classic, so a cluster
// that runs such an entry would be stuck. Where the chain can go on to an entry
// whose edge leads on, that is added, and added is true. ok is false where only
// a higher head would help, as the original has it.
func (g *growth) lead(shape graph.Shape) (added, ok bool) {
	led := make([]bool, len(g.entries))
	for _, name := range shape.Chain {
		i := g.number[name]
		led[i] = true
		for _, y := range slices.Concat(g.below[i], g.skips[i]) {
			led[y] = true
		}
	}
	updates := func(x, y int) bool { return slices.Contains(g.below[x], y) || g.ranges(x, g.entries[y].Name) }
	limit := g.limit()
next:
	for y, kept := range g.keep {
		if !kept || led[y] || g.hopeless[y] {
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
		g.hopeless[y] = true // it had no update in the original either
	}
	return false, true
}

// join looks for entries that have no way to the head at all, as where two skip
// each other and what led out of their circle is gone. Where the original has a
// way, its shortest is added. join reports whether any was.
func (g *growth) join() bool {
	joined := g.joined()
	for y, kept := range g.keep {
		if kept && !joined[y] && g.add(g.way(y, joined), y) {
			return true
		}
	}
	return false
}

// joined are the kept entries that have a way to the head over kept ones.
func (g *growth) joined() []bool {
	joined := make([]bool, len(g.entries))
	joined[g.head] = true
	for queue := []int{g.head}; len(queue) > 0; {
		x := queue[0]
		queue = queue[1:]
		for _, y := range slices.Concat(g.below[x], g.skips[x]) {
			if g.keep[y] && !joined[y] {
				joined[y] = true
				queue = append(queue, y)
			}
		}
		if len(queue) > 0 {
			continue
		}
		for y, kept := range g.keep { // skipRanges last: they are dearer to ask
			if kept && !joined[y] && g.updates(y, joined) {
				joined[y] = true
				queue = append(queue, y)
			}
		}
	}
	return joined
}

// updates reports whether the skipRange of one of these holds y.
func (g *growth) updates(y int, these []bool) bool {
	for x, in := range these {
		if in && g.ranges(x, g.entries[y].Name) {
			return true
		}
	}
	return false
}

// way is the shortest list of entries that lead from y to one of the goals; nil
// where there is no way.
func (g *growth) way(y int, goals []bool) []int {
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
			var way []int
			for i != y {
				way = append(way, i)
				i = from[i]
			}
			return way
		}
	}
	return nil
}
