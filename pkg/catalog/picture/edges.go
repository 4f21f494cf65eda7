package picture

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Limits for a channel that is larger than any real one: maxTried is the number of pairs of a
// skipRange and a version that are tried, maxFolded the number of edges that are listed but not
// drawn.
const (
	maxTried  = 4_000_000
	maxFolded = 200_000
)

// An edge leads from a bundle, which the channel may not have, to an entry.
type edge struct {
	from, to, kind string
	span           string // the skipRange
	drawn          bool
}

// findEdges lists the edges of the channel and chooses which are drawn.
func (t *chart) findEdges() {
	successors := slices.Clone(t.entries)
	elements.Sort(successors, func(a, b catalog.Entry) int { return cmp.Compare(t.near[a.Name], t.near[b.Name]) })

	hasUpdate := map[string]bool{} // names that a drawn edge leads from
	for _, e := range t.entries {
		if e.Replaces != "" && e.Replaces != e.Name {
			hasUpdate[e.Replaces] = true
			t.edges = append(t.edges, edge{from: e.Replaces, to: e.Name, kind: replaces, drawn: true})
		}
	}
	for _, e := range successors {
		names := slices.Clone(e.Skips)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if name == "" || name == e.Name {
				continue
			}
			t.edges = append(t.edges, edge{from: name, to: e.Name, kind: skips, drawn: !hasUpdate[name]})
			hasUpdate[name] = true
		}
	}
	t.drawShortcuts()
	t.findRanges(successors, hasUpdate)
}

// drawShortcuts also draws the skips that lead to entries that the drawn edges do not reach.
// Entries that are skipped themselves are not such targets.
func (t *chart) drawShortcuts() {
	next := map[string][]string{}
	for _, e := range t.edges {
		if e.drawn {
			next[e.from] = append(next[e.from], e.to)
		}
	}
	looked := 0
	reaches := func(from, to string) bool {
		seen := map[string]bool{from: true}
		for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
			for _, name := range next[queue[0]] {
				if looked++; name == to || looked > maxTried {
					return true
				}
				if !seen[name] {
					seen[name] = true
					queue = append(queue, name)
				}
			}
		}
		return false
	}
	for i, e := range t.edges {
		if !e.drawn && t.entry[e.from] && !t.shape.Skipped[e.to] && !reaches(e.from, e.to) {
			t.edges[i].drawn = true
			next[e.from] = append(next[e.from], e.to)
		}
	}
}

// findRanges adds the edges of skipRanges, starting with the successors nearest to the head.
func (t *chart) findRanges(successors []catalog.Entry, hasUpdate map[string]bool) {
	type candidate struct {
		name    string
		version semver.Version
	}
	var candidates []candidate
	for _, e := range t.entries {
		if b := t.bundles[e.Name]; b != nil && b.VersionErr == nil {
			candidates = append(candidates, candidate{e.Name, b.Version})
		}
	}
	for _, at := range t.options.Installed {
		if at.Name != "" && !t.entry[at.Name] {
			candidates = append(candidates, candidate{at.Name, at.Version})
		}
	}
	tried, folded, left := 0, 0, 0
	for _, e := range successors {
		within, err := graph.Range(e)
		if err != nil {
			t.graph.Notes = append(t.graph.Notes, fmt.Sprintf("the skipRange %q of %s is not a valid range and is ignored", e.SkipRange, e.Name))
			continue
		}
		if e.SkipRange == "" {
			continue
		}
		if tried += len(candidates); tried > maxTried {
			left++
			continue
		}
		for _, c := range candidates {
			if c.name == e.Name || !within(c.version) {
				continue
			}
			draw := !hasUpdate[c.name]
			if !draw {
				if folded++; folded > maxFolded {
					continue
				}
			}
			hasUpdate[c.name] = true
			t.edges = append(t.edges, edge{from: c.name, to: e.Name, kind: skipRange, span: e.SkipRange, drawn: draw})
		}
	}
	if left > 0 {
		t.graph.Notes = append(t.graph.Notes, fmt.Sprintf("the channel is so large that %s were ignored", counted(left, "skipRange")))
	}
	if folded > maxFolded {
		t.graph.Notes = append(t.graph.Notes, fmt.Sprintf("%s edges of skipRanges are not listed", diagram.Count(folded-maxFolded)))
	}
}

// fold returns for each entry how many edges into it are not drawn.
func (t *chart) fold() map[string]int {
	type pair struct{ from, to string }
	drawn := map[pair]bool{}
	for _, e := range t.edges {
		if e.drawn {
			drawn[pair{e.from, e.to}] = true
		}
	}
	more := map[string]int{}
	for _, e := range t.edges {
		p := pair{e.from, e.to}
		if t.entry[e.from] && !drawn[p] {
			drawn[p] = true // counts once
			more[e.to]++
		}
	}
	return more
}
