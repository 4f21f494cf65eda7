package filter

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// randomVersions are p.v1.0.0 and so on, some of them pre-releases.
func randomVersions(r *rand.Rand, size int) map[string]semver.Version {
	versions := map[string]semver.Version{}
	for i := range 1 + r.IntN(size) {
		v := fmt.Sprintf("1.%d.0", i)
		if r.IntN(6) == 0 {
			v += "-rc1"
		}
		versions["p.v"+v] = semver.MustParse(v)
	}
	return versions
}

// randomChannel makes a channel that OLM accepts: a chain, sometimes not ordered by version, with
// forks, skips of existing and missing names, and skipRanges. It has some or all of the bundles. A
// wild one has edges in both directions, so that some form a cycle.
func randomChannel(r *rand.Rand, versions map[string]semver.Version, wild bool) []catalog.Entry {
	for {
		names := slices.SortedFunc(maps.Keys(versions), func(a, b string) int { return versions[a].Compare(versions[b]) })
		if r.IntN(3) == 0 {
			names = slices.DeleteFunc(names, func(string) bool { return len(names) > 1 && r.IntN(3) == 0 })
		}
		n := len(names)
		if n == 0 || names[0] == "" {
			continue
		}
		order := slices.Clone(names)
		if r.IntN(4) == 0 {
			r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		entries := make([]catalog.Entry, n)
		for i := range entries {
			e := catalog.Entry{Name: order[i]}
			below := n
			if !wild {
				below = max(i, 1)
			}
			switch r.IntN(8) {
			case 0:
				e.Replaces = fmt.Sprintf("gone.v%d", i)
			case 1:
			case 2:
				e.Replaces = order[r.IntN(below)]
			default:
				if i > 0 {
					e.Replaces = order[i-1-r.IntN(min(i, 1+r.IntN(2)))]
				}
			}
			for range r.IntN(3) * r.IntN(3) {
				e.Skips = append(e.Skips, order[r.IntN(below)])
			}
			if i == n-1 && r.IntN(2) == 0 {
				e.Skips = append(e.Skips, order[:r.IntN(n)]...)
			}
			e.Skips = slices.DeleteFunc(e.Skips, func(s string) bool { return s == e.Name })
			if e.Replaces == e.Name && !wild {
				e.Replaces = ""
			}
			if r.IntN(4) == 0 {
				e.Skips = append(e.Skips, "gone.v0")
			}
			switch kind := r.IntN(4); {
			case kind == 0 && wild:
				from := r.IntN(n)
				e.SkipRange = fmt.Sprintf(">=1.%d.0-0 <1.%d.0", from, from+r.IntN(n))
			case kind < 2:
				e.SkipRange = fmt.Sprintf(">=1.%d.0-0 <%s", r.IntN(i+1), versions[e.Name])
			}
			if within, err := graph.Range(e); err != nil || !wild && slices.ContainsFunc(order[i:], func(name string) bool { return within(versions[name]) }) {
				e.SkipRange = ""
			}
			entries[i] = e
		}
		r.Shuffle(n, func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		if graph.Inspect(entries).Valid() && graph.Order(entries) != nil {
			return entries
		}
	}
}

func dump(c *channel, selected []bool, k subset) string {
	s := ""
	for i, e := range c.entries {
		mark := " "
		switch {
		case selected[i]:
			mark = "S"
		case len(k.keep) > 0 && k.keep[i]:
			mark = "+"
		}
		s += fmt.Sprintf("%s %-10s version %-10s level %d replaces %-10s skips %v skipRange %s, added %v, for %v\n",
			mark, e.Name, c.version(i), c.level[i], e.Replaces, e.Skips, e.SkipRange, k.skips[i], k.why[i])
	}
	return s + fmt.Sprintf("head %v", c.entries[k.head].Name)
}

// checkSubset checks the guaranteed properties of a subset of a valid channel.
func checkSubset(t *testing.T, c *channel, selected []bool, k subset, exact bool) {
	t.Helper()
	head := c.entries[k.head].Name
	now := induced(c.entries, k.keep, k.skips)
	shape, was := graph.Inspect(now), graph.Inspect(c.entries)
	if !shape.Valid() || shape.Heads[0] != head {
		t.Errorf("not a valid channel with head %s: %+v", head, shape)
	}
	for i := range c.entries {
		y, added := k.why[i]
		if selected[i] && !k.keep[i] {
			t.Errorf("%s was selected and is missing", c.entries[i].Name)
		}
		if added != (k.keep[i] && !selected[i]) || added && (!k.keep[y] || y == i) {
			t.Errorf("%s: a wrong reason (%v, %v)", c.entries[i].Name, added, y)
		}
	}
	for _, e := range now {
		before := c.entries[c.number[e.Name]]
		for name, v := range c.versions {
			fail.Diff(t, graph.Edge(e, name, v), graph.Edge(before, name, v))
		}
	}
	if exact {
		return // pins come before paths
	}

	// OLM v1 follows any edge: a bundle that reached the new head before still does.
	for i, e := range c.entries {
		if k.keep[i] && reaches(c.entries, e.Name, head, c.versions) && !reaches(now, e.Name, head, c.versions) {
			t.Errorf("%s no longer reaches %s", e.Name, head)
		}
	}
	// OLM classic offers only what is not skipped, which in a valid channel leads to the head. A
	// kept bundle that had an update still has one, and so does a dropped bundle whose update is
	// kept.
	before, after := unskipped(c.entries, was), unskipped(now, shape)
	for name, v := range c.versions {
		i, present := c.number[name]
		leads := func(e catalog.Entry) bool {
			return e.Name != name && graph.Edge(e, name, v) && (k.keep[c.number[e.Name]] || present && k.keep[i])
		}
		if name != head && slices.ContainsFunc(before, leads) && !slices.ContainsFunc(after, leads) {
			t.Errorf("%s has no update left", name)
		}
	}
}

func unskipped(entries []catalog.Entry, shape graph.Shape) []catalog.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e catalog.Entry) bool { return shape.Skipped[e.Name] })
}

// reaches follows the edges from one bundle to another.
func reaches(entries []catalog.Entry, from, to string, versions map[string]semver.Version) bool {
	seen := map[string]bool{from: true}
	for queue := []string{from}; len(queue) > 0; {
		name := queue[0]
		queue = queue[1:]
		if name == to {
			return true
		}
		for _, e := range entries {
			if !seen[e.Name] && graph.Edge(e, name, versions[name]) {
				seen[e.Name] = true
				queue = append(queue, e.Name)
			}
		}
	}
	return false
}
