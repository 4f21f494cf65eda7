package picture

import (
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/diagram"
)

// foldShared replaces bundles in a row that an earlier channel draws, with the same updates and marks,
// by one node each. All edges stay, except those between the bundles of one node.
func foldShared(charts []*chart) {
	for i, t := range charts {
		t.foldDrawn(charts[:i])
	}
}

// A run is bundles in a row that earlier channels draw.
type run struct {
	nodes    []diagram.Node
	channels []string // that draw them
}

// An ownNode is an entry with a node of its own, and the marks of that node.
type ownNode struct {
	catalog.Entry
	marks []string
}

func (t *chart) foldDrawn(earlier []*chart) {
	all := make(map[string]ownNode, len(t.entries))
	for _, e := range t.entries {
		all[e.Name] = ownNode{Entry: e}
	}
	for _, n := range t.graph.Nodes {
		if o, ok := all[n.ID]; ok {
			o.marks = slices.DeleteFunc(slices.Clone(n.Marks), func(m string) bool { return m == head || m == mirrorHead })
			all[n.ID] = o
		}
	}
	runOf := map[string]*run{}
	var last *run
	for _, n := range t.graph.Nodes {
		if !t.entry[n.ID] {
			continue // not in the channel
		}
		at := slices.IndexFunc(earlier, func(c *chart) bool { return t.drawnIn(c, all[n.ID]) })
		if at < 0 {
			last = nil
			continue
		}
		if last == nil || t.fate(last.nodes[0].ID) != t.fate(n.ID) {
			last = &run{}
		}
		last.nodes = append(last.nodes, n)
		if name := earlier[at].channel.Name; !slices.Contains(last.channels, name) {
			last.channels = append(last.channels, name)
		}
		runOf[n.ID] = last
	}
	maps.DeleteFunc(runOf, func(_ string, r *run) bool { return len(r.nodes) < 2 })
	if len(runOf) > 0 {
		t.replaceRuns(runOf, t.runNode)
	}
	maps.DeleteFunc(all, func(name string, _ ownNode) bool { return runOf[name] != nil })
	t.own = all
}

// drawnIn reports whether an earlier channel draws an entry of this channel, with the same updates and
// marks. A head is drawn in each of its channels.
func (t *chart) drawnIn(c *chart, mine ownNode) bool {
	theirs, ok := c.own[mine.Name]
	if !ok || t.heads[mine.Name] || t.mirrors[mine.Name] {
		return false
	}
	if mine.Replaces != theirs.Replaces || mine.SkipRange != theirs.SkipRange || !slices.Equal(mine.Skips, theirs.Skips) {
		return false
	}
	for _, from := range append([]string{mine.Replaces}, mine.Skips...) {
		if t.entry[from] != c.entry[from] {
			return false
		}
	}
	return slices.Equal(mine.marks, theirs.marks)
}

// replaceRuns replaces the nodes of runs, and removes absent names that lead only to such nodes: the
// earlier channels draw them, or they are pruned. node returns the node of a run.
func (t *chart) replaceRuns(runOf map[string]*run, node func(*run) diagram.Node) {
	leads := map[string]bool{} // absent nodes that lead to nodes that stay
	for _, e := range t.graph.Edges {
		if !e.Folded && runOf[e.To] == nil {
			leads[e.From] = true
		}
	}
	id := func(name string) string {
		if r := runOf[name]; r != nil {
			return r.nodes[0].ID
		}
		return name
	}
	var nodes []diagram.Node
	gone := map[string]bool{}
	for _, n := range t.graph.Nodes {
		switch r := runOf[n.ID]; {
		case r == nil && !t.entry[n.ID] && !leads[n.ID] && !t.runs(n.ID):
			gone[n.ID] = true
		case r == nil:
			nodes = append(nodes, n)
		case r.nodes[0].ID == n.ID:
			nodes = append(nodes, node(r))
		}
	}
	type key struct{ from, to, kind, label string }
	seen := map[key]bool{}
	var edges []diagram.Edge
	for _, e := range t.graph.Edges {
		from, to := id(e.From), id(e.To)
		k, ofRun := key{from, to, e.Kind, e.Label}, runOf[e.From] != nil || runOf[e.To] != nil
		if gone[e.From] || ofRun && (from == to || e.Folded || seen[k]) {
			continue
		}
		if ofRun {
			seen[k], e.Facts = true, nil
		}
		e.From, e.To = from, to
		edges = append(edges, e)
	}
	t.graph.Nodes, t.graph.Edges = nodes, edges
}

// runNode returns the node for a run. It has the ID of its first bundle.
func (t *chart) runNode(r *run) diagram.Node {
	first, last := r.nodes[0], r.nodes[len(r.nodes)-1]
	n := diagram.Node{
		ID: first.ID, Label: counted(len(r.nodes), "bundle"), Detail: first.Label + " to " + last.Label,
		Note: "drawn in " + diagram.Few(r.channels, 1), Marks: []string{drawnAbove},
	}
	if t.options.Kept != nil {
		n.Marks = append(n.Marks, t.fate(first.ID))
	}
	installedHere := false
	for _, m := range r.nodes {
		n.Names = append(n.Names, m.ID)
		installedHere = installedHere || slices.Contains(m.Marks, installed)
	}
	if installedHere {
		n.Marks = append(n.Marks, installed)
	}
	n.Facts = []diagram.Fact{{Name: "drawn in", Value: diagram.Few(r.channels, 5)}}
	return n
}
