package filter

import (
	"cmp"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A channel is an original channel with its edges indexed. Entries are numbered by their position
// in it. A set of entries is a []bool.
type channel struct {
	entries  []catalog.Entry
	number   map[string]int
	versions map[string]semver.Version // of every bundle of the package
	// below has the entries that an entry replaces or skips, above those that replace or skip it,
	// skippers those that skip it.
	below, above, skippers [][]int
	// level orders the entries: a successor is above what it replaces or skips (except in cycles),
	// and unrelated entries are ordered by version.
	level []int
	// chain is the replaces chain from the head down to the first skipped entry. It is empty
	// without a single head.
	chain []int
	valid bool // whether OLM accepts the original channel
	// within has the parsed skipRanges, nil for one that is absent or invalid.
	within []semver.Range
}

func newChannel(entries []catalog.Entry, versions map[string]semver.Version) *channel {
	n := len(entries)
	c := &channel{
		entries: entries, number: make(map[string]int, n), versions: versions,
		below: make([][]int, n), above: make([][]int, n), skippers: make([][]int, n),
		level: make([]int, n), within: make([]semver.Range, n),
	}
	for i, e := range entries {
		if _, again := c.number[e.Name]; !again {
			c.number[e.Name] = i
		}
	}
	for i, e := range entries {
		if y, ok := c.number[e.Replaces]; ok {
			c.below[i] = append(c.below[i], y)
			c.above[y] = append(c.above[y], i)
		}
		for _, skip := range e.Skips {
			if y, ok := c.number[skip]; ok {
				c.below[i] = append(c.below[i], y)
				c.above[y] = append(c.above[y], i)
				c.skippers[y] = append(c.skippers[y], i)
			}
		}
		if within, err := graph.Range(e); err == nil && e.SkipRange != "" {
			c.within[i] = within
		}
	}
	shape := graph.Inspect(entries)
	c.valid = shape.Valid()
	for _, name := range shape.Chain {
		c.chain = append(c.chain, c.number[name])
	}
	c.order()
	return c
}

// order computes level: a depth-first walk that begins with the lowest versions and numbers an
// entry after everything below it.
func (c *channel) order() {
	lowestFirst := func(a, b int) int {
		return cmp.Or(c.version(a).Compare(c.version(b)), cmp.Compare(c.entries[a].Name, c.entries[b].Name), cmp.Compare(a, b))
	}
	all := make([]int, len(c.entries))
	for i := range all {
		all[i] = i
		elements.Sort(c.below[i], lowestFirst)
	}
	elements.Sort(all, lowestFirst)
	seen := make([]bool, len(all))
	next := 0
	// The stack is explicit, because a replaces chain may be as long as a catalog.
	type frame struct{ entry, child int }
	for _, root := range all {
		if seen[root] {
			continue
		}
		seen[root] = true
		stack := []frame{{root, 0}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.child == len(c.below[top.entry]) {
				c.level[top.entry] = next
				next++
				stack = stack[:len(stack)-1]
				continue
			}
			child := c.below[top.entry][top.child]
			top.child++
			if !seen[child] {
				seen[child] = true
				stack = append(stack, frame{child, 0})
			}
		}
	}
}

// version returns the version of entry i, 0.0.0 if it is not readable.
func (c *channel) version(i int) semver.Version { return c.versions[c.entries[i].Name] }

// reach returns everything that next leads to from the entry, itself included.
func (c *channel) reach(from int, next [][]int) []bool {
	reached := make([]bool, len(c.entries))
	reached[from] = true
	for queue := []int{from}; len(queue) > 0; {
		i := queue[0]
		queue = queue[1:]
		for _, j := range next[i] {
			if !reached[j] {
				reached[j] = true
				queue = append(queue, j)
			}
		}
	}
	return reached
}

// covering returns the entries from which all of these can be reached downwards, the lowest first.
func (c *channel) covering(these []int) []int {
	count := make([]int, len(c.entries))
	for _, y := range these {
		for i, reached := range c.reach(y, c.above) {
			if reached {
				count[i]++
			}
		}
	}
	var covering []int
	for i, n := range count {
		if n == len(these) {
			covering = append(covering, i)
		}
	}
	elements.Sort(covering, func(a, b int) int { return cmp.Compare(c.level[a], c.level[b]) })
	return covering
}

// ranges reports whether the skipRange of x covers the version of the bundle.
func (c *channel) ranges(x int, bundle string) bool {
	v, known := c.versions[bundle]
	return known && c.within[x] != nil && c.within[x](v)
}

// induced returns the kept entries with their original edges, plus the added skips.
func induced(entries []catalog.Entry, keep []bool, added map[int][]int) []catalog.Entry {
	var kept []catalog.Entry
	for i, e := range entries {
		if !keep[i] {
			continue
		}
		for _, y := range added[i] {
			e.Skips = append(slices.Clip(e.Skips), entries[y].Name)
		}
		kept = append(kept, e)
	}
	return kept
}
