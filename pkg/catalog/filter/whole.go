package filter

import (
	"cmp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// A cut is what remains of a channel.
type cut struct {
	keep []bool
	// why has, for every entry that was not selected, the one that it is kept
	// for.
	why map[int]int
	// skips has, for an entry, those that were added to its skips. Its
	// skipRange holds each of them already.
	skips map[int][]int
	head  int
}

// whole finds the smallest set of entries it can that has all selected ones and
// that OLM accepts as a channel, with every entry's edges left as they are. It
// reports false where there is none, which is so only if the channel itself is
// not one that OLM accepts.
//
// The new head is the lowest entry that covers all selected ones. Below it, each
// entry that would be a second head or stranded is mended by what costs the
// fewest bundles: a skip that its successor's skipRange makes already, the
// missing part of the replaces chain, or an entry that skips it.
func (c *channel) whole(selected []bool) (cut, bool) {
	for _, head := range c.candidates(selected, false) {
		for _, absorbs := range []bool{true, false} {
			g := c.grow(selected, head)
			g.absorbs = absorbs
			if g.run() {
				return g.cut, true
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
		return cut{}, false
	}
	everything := cut{keep: all, why: map[int]int{}, head: c.chain[0]}
	for i := range all {
		if !selected[i] {
			everything.why[i] = slices.Index(selected, true)
		}
	}
	return everything, true
}

// exactly is whole without any entry beside the selected ones. Where these are
// the user's wish, a skip may be added even if it parts a bundle that is gone
// from its only update.
func (c *channel) exactly(selected []bool) (cut, bool) {
	for _, free := range []bool{false, true} {
		for _, head := range c.candidates(selected, free) {
			if !selected[head] {
				continue
			}
			g := c.grow(selected, head)
			g.absorbs, g.exact, g.free = true, true, free
			if g.run() {
				return g.cut, true
			}
		}
	}
	return cut{}, false
}

// candidates are the entries that may be the head of what is kept, the lowest
// first. Heads that a skipRange takes up need no cover. A head that is selected
// stays the head, also of entries with higher versions.
func (c *channel) candidates(selected []bool, free bool) []int {
	if len(c.chain) > 0 && selected[c.chain[0]] {
		return c.chain[:1]
	}
	var heads []int
	for _, name := range graph.Inspect(induced(c.entries, selected, nil)).Heads {
		heads = append(heads, c.number[name])
	}
	if len(heads) == 0 { // a circle of skips
		for i, s := range selected {
			if s {
				heads = append(heads, i)
			}
		}
	}
	g := &growth{channel: c, cut: cut{keep: selected}, free: free}
	var open []int
	for _, y := range heads {
		if g.absorber(y) < 0 {
			open = append(open, y)
		}
	}
	var candidates []int
	if len(open) > 0 && len(open) < len(heads) {
		candidates = c.covering(open)
	}
	candidates = append(candidates, c.covering(heads)...)
	if len(c.chain) > 0 {
		candidates = append(candidates, c.chain[0])
	}
	// Where edges run in a circle, an entry may stand below what it covers.
	slices.SortStableFunc(candidates, func(a, b int) int {
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

// growth is the state of making one selection whole under one head.
type growth struct {
	*channel
	cut
	absorbs bool // may add skips that a skipRange makes already
	exact   bool // may not add entries
	free    bool // may add such skips even where not every update below is kept

	under []bool // what the head leads down to
	// walk is the head and what it replaces, step by step, whether skipped or
	// not; place has the entries' positions in it.
	walk  []int
	place map[int]int
	// hopeless are kept entries that had no way to the head in the original
	// either.
	hopeless []bool
	// absorbed are those that skips were added for.
	absorbed []bool
}

func (c *channel) grow(selected []bool, head int) *growth {
	g := &growth{
		channel:  c,
		cut:      cut{keep: slices.Clone(selected), why: map[int]int{}, skips: map[int][]int{}, head: head},
		place:    map[int]int{},
		absorbed: make([]bool, len(c.entries)),
		hopeless: make([]bool, len(c.entries)),
	}
	g.under = c.reach(head, c.below)
	for i, ok := head, true; ok; i, ok = c.number[c.entries[i].Replaces] {
		if _, again := g.place[i]; again {
			break
		}
		g.place[i] = len(g.walk)
		g.walk = append(g.walk, i)
	}
	return g
}

// run adds to the cut until it is whole, and reports whether it is.
func (g *growth) run() bool {
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
		var broken []int
		for _, loose := range append(shape.Heads, shape.Stranded...) {
			if loose != name {
				broken = append(broken, g.number[loose])
			}
		}
		if len(broken) == 0 {
			if g.exact {
				return true
			}
			for x := range g.skips {
				if !slices.Contains(shape.Chain, g.entries[x].Name) {
					return false // what x took up has no update, as x is none
				}
			}
			added, ok := g.lead(shape)
			if !ok || !added && !g.join() {
				return ok
			}
			continue
		}
		slices.SortFunc(broken, func(a, b int) int { return cmp.Compare(g.level[b], g.level[a]) })
		mended := false
		for _, y := range broken {
			mended = g.mend(y) || mended
		}
		if !mended {
			return false
		}
	}
}

// highest is the highest of the kept entries but the head.
func (g *growth) highest() int {
	best := g.head
	for i, kept := range g.keep {
		if kept && i != g.head && (best == g.head || g.level[i] > g.level[best]) {
			best = i
		}
	}
	return best
}
