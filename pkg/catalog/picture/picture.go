// Package picture turns the channels of a catalog package into a drawing: it takes what pkg/catalog
// read and returns what pkg/diagram draws.
//
// Every channel is a graph of its own. Its nodes are the entries, oldest first, and the names that
// an entry replaces or skips but that the channel does not have. Its edges lead from a bundle to
// the updates that OLM offers for it. The graph has all edges, but a picture of all of them would
// be unreadable: a head whose skipRange contains forty versions has forty lines more. So an edge is
// drawn if it is the update that a bundle takes. Edges that another one implies are folded into a
// note of their successor ("directly from 39 more"):
//
//   - What an entry replaces is always drawn: that is the chain.
//   - A bundle that no entry replaces is drawn into the entry nearest to the head
//     that skips it, because OLM updates it there at once. So are names that the
//     channel does not have; those that lead to the same entries are one node.
//   - A bundle that no entry replaces or skips is drawn into the entry nearest to
//     the head whose skipRange contains it.
//
// Channels have most of their bundles in common. Bundles in a row that an earlier channel of the drawing
// has with the same updates and marks share one node, so that they are drawn once. Heads are drawn in
// each of their channels.
//
// Marks show what is kept and what is pruned; the head, and the mirrored head if it is another one;
// and what is skipped, deprecated, installed or also in other channels. Everything here is a pure
// function.
package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Options add to a drawing what the package itself does not contain.
type Options struct {
	// Kept is what a configuration keeps of the package. It has no channels if the configuration
	// keeps nothing. It is nil if there is no configuration; nothing is marked as kept or pruned
	// then.
	Kept *catalog.Package
	// Account has the reasons why bundles are kept. It may be nil.
	Account *filter.Package
	// Installed are the bundles of the package that clusters run.
	Installed []graph.At
	// Channels are the names of the channels to draw, in this order. Empty means all: the default
	// channel first, then the others by name, newest first.
	Channels []string
	// All draws bundles that several channels share in each of them, and not only in the first.
	All bool
	// FoldPruned draws pruned bundles in a row as one node.
	FoldPruned bool
}

// Draw returns a drawing of a package. A channel that the package does not have is an error with
// the nearest names.
func Draw(p *catalog.Package, o Options) (diagram.Drawing, error) {
	channels, err := choose(p, o.Channels)
	if err != nil {
		return diagram.Drawing{}, err
	}
	s := newSketch(p, o)
	d := diagram.Drawing{Title: p.Name, Marks: marks(), Kinds: kinds()}
	charts := elements.Map(channels, s.channel)
	if !o.All {
		foldShared(charts)
	}
	for _, t := range charts {
		if o.FoldPruned {
			t.foldPruned()
		}
		d.Graphs = append(d.Graphs, t.graph)
	}
	d.Notes = s.notes(channels)
	if slices.ContainsFunc(charts, func(t *chart) bool { return len(t.own) < len(t.entries) && !o.All }) {
		d.Marks = append(d.Marks, diagram.Mark{Name: drawnAbove, About: "bundles in a row that an earlier channel draws", Look: diagram.Stacked})
		d.Notes = append(d.Notes, "Bundles in a row that an earlier channel has with the same updates share a box.")
	}
	return d, nil
}

// choose returns the channels to draw.
func choose(p *catalog.Package, names []string) ([]*catalog.Channel, error) {
	if len(names) == 0 {
		channels := slices.Clone(p.Channels)
		elements.Sort(channels, func(a, b *catalog.Channel) int {
			return cmp.Or(rank(b.Name == p.DefaultChannel)-rank(a.Name == p.DefaultChannel), natural(b.Name, a.Name))
		})
		return channels, nil
	}
	var channels []*catalog.Channel
	for _, name := range names {
		c := p.Channel(name)
		if c == nil {
			return nil, unknownChannel(p, name)
		}
		if !slices.Contains(channels, c) {
			channels = append(channels, c)
		}
	}
	return channels, nil
}

func rank(first bool) int {
	if first {
		return 1
	}
	return 0
}

// natural compares names by the numbers in them: v1.9 comes before v1.10.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			n, m := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if c := cmp.Or(cmp.Compare(len(n), len(m)), cmp.Compare(n, m)); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns the number of digits that a text begins with.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

func unknownChannel(p *catalog.Package, name string) error {
	all := elements.Map(p.Channels, func(c *catalog.Channel) string { return c.Name })
	if near := suggest.Nearest(name, all); len(near) > 0 {
		return fmt.Errorf("package %s has no channel %q; did you mean %s?", p.Name, name, strings.Join(near, ", "))
	}
	return fmt.Errorf("package %s has no channel %q; it has %s", p.Name, name, strings.Join(all, ", "))
}
