package filter

import (
	"cmp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A subset is what is kept of a channel.
type subset struct {
	keep []bool
	// why maps every added entry to the entry that it is kept for.
	why map[int]int
	// skips maps an entry to the entries that were added to its skips. Its skipRange already covers
	// each of them.
	skips map[int][]int
	head  int
}

// complete returns a small set of entries that contains all selected ones and that OLM accepts as a
// channel, with every entry's edges unchanged. It returns false only if OLM does not accept the
// original channel either.
//
// The new head is the lowest entry that covers all selected ones. Each entry below it that would be
// a second head or stranded is repaired by what adds the fewest bundles: a skip that its
// successor's skipRange already implies, the missing part of the replaces chain, or an entry that
// skips it.
func (c *channel) complete(selected []bool) (subset, bool) {
	for _, head := range c.candidates(selected, false) {
		for _, absorbs := range []bool{true, false} {
			g := c.newClosure(selected, head)
			g.absorbs = absorbs
			if g.run() {
				return g.subset, true
			}
			if len(g.skips) == 0 {
				break // the second try would be the same
			}
		}
	}
	all := make([]bool, len(c.entries))
	for i := range all {
		all[i] = true
	}
	if !c.valid {
		return subset{}, false
	}
	everything := subset{keep: all, why: map[int]int{}, head: c.chain[0]}
	for i := range all {
		if !selected[i] {
			everything.why[i] = slices.Index(selected, true)
		}
	}
	return everything, true
}

// exactly is complete without additional entries. The user selected these entries, so a skip may be
// added even if a dropped bundle loses its only update by it.
func (c *channel) exactly(selected []bool) (subset, bool) {
	for _, free := range []bool{false, true} {
		for _, head := range c.candidates(selected, free) {
			if !selected[head] {
				continue
			}
			g := c.newClosure(selected, head)
			g.absorbs, g.exact, g.free = true, true, free
			if g.run() {
				return g.subset, true
			}
		}
	}
	return subset{}, false
}

// candidates returns the entries that may become the head, the lowest first. The head need not
// cover a second head that can be absorbed by a skipRange. If the original head is selected, it
// stays the head, even above entries with higher versions.
func (c *channel) candidates(selected []bool, free bool) []int {
	if len(c.chain) > 0 && selected[c.chain[0]] {
		return c.chain[:1]
	}
	heads := elements.Map(graph.Inspect(induced(c.entries, selected, nil)).Heads, func(name string) int { return c.number[name] })
	if len(heads) == 0 { // a circle of skips
		for i, s := range selected {
			if s {
				heads = append(heads, i)
			}
		}
	}
	g := &closure{channel: c, subset: subset{keep: selected}, free: free}
	open := elements.Filter(heads, func(y int) bool { return g.absorber(y) < 0 })
	var candidates []int
	if len(open) > 0 && len(open) < len(heads) {
		candidates = c.covering(open)
	}
	candidates = append(candidates, c.covering(heads)...)
	if len(c.chain) > 0 {
		candidates = append(candidates, c.chain[0])
	}
	// In a cycle, an entry may have a lower level than what it covers.
	elements.Sort(candidates, func(a, b int) int {
		switch {
		case selected[a] == selected[b]:
			return 0
		case selected[a]:
			return -1
		default:
			return 1
		}
	})
	seen := make([]bool, len(c.entries))
	return slices.DeleteFunc(candidates, func(i int) bool {
		again := seen[i]
		seen[i] = true
		return again
	})
}

// A closure adds entries to a selection until every kept entry has an update path to one head.
type closure struct {
	*channel
	subset
	absorbs bool // may add skips that a skipRange already implies
	exact   bool // may not add entries
	free    bool // may add such skips even if some bundles below lose their update

	under []bool // the entries below the head
	// walk is the head and what it replaces, step by step, ignoring skips; position is the inverse.
	walk     []int
	position map[int]int
	// hopeless are kept entries without an update path to the head in the original either.
	hopeless []bool
	// absorbed are the entries that were added to the skips of another.
	absorbed []bool
}

func (c *channel) newClosure(selected []bool, head int) *closure {
	g := &closure{
		channel:  c,
		subset:   subset{keep: slices.Clone(selected), why: map[int]int{}, skips: map[int][]int{}, head: head},
		position: map[int]int{},
		absorbed: make([]bool, len(c.entries)),
		hopeless: make([]bool, len(c.entries)),
	}
	g.under = c.reach(head, c.below)
	for i, ok := head, true; ok; i, ok = c.number[c.entries[i].Replaces] {
		if _, again := g.position[i]; again {
			break
		}
		g.position[i] = len(g.walk)
		g.walk = append(g.walk, i)
	}
	return g
}

// run adds entries until OLM accepts the subset, and reports whether it succeeded.
func (g *closure) run() bool {
	if !g.keep[g.head] {
		g.keep[g.head] = true
		g.why[g.head] = g.highest()
	}
	for {
		shape := graph.Inspect(induced(g.entries, g.keep, g.skips))
		name := g.entries[g.head].Name
		if !slices.Contains(shape.Heads, name) || len(shape.Cycle) > 0 {
			return false
		}
		var unconnected []int
		for _, loose := range append(shape.Heads, shape.Stranded...) {
			if loose != name {
				unconnected = append(unconnected, g.number[loose])
			}
		}
		if len(unconnected) == 0 {
			if g.exact {
				return true
			}
			for x := range g.skips {
				if !slices.Contains(shape.Chain, g.entries[x].Name) {
					return false // x is not offered as an update, so what it absorbed has none
				}
			}
			added, ok := g.addUpdates(shape)
			if !ok || !added && !g.connect() {
				return ok
			}
			continue
		}
		elements.Sort(unconnected, func(a, b int) int { return cmp.Compare(g.level[b], g.level[a]) })
		repaired := false
		for _, y := range unconnected {
			repaired = g.repair(y) || repaired
		}
		if !repaired {
			return false
		}
	}
}

// highest returns the highest kept entry except the head.
func (g *closure) highest() int {
	best := g.head
	for i, kept := range g.keep {
		if kept && i != g.head && (best == g.head || g.level[i] > g.level[best]) {
			best = i
		}
	}
	return best
}
