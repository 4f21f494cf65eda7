package picture

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/diagram"
)

// foldPruned replaces pruned bundles in a row by one node each. Heads and bundles that clusters run stay.
func (t *chart) foldPruned() {
	runOf := map[string]*run{}
	var all []*run
	var last *run
	for _, n := range t.graph.Nodes {
		if !t.entry[n.ID] {
			continue // not in the channel
		}
		if !slices.Contains(n.Marks, pruned) || slices.ContainsFunc(n.Marks, func(m string) bool { return m == head || m == installed || m == drawnAbove }) {
			last = nil
			continue
		}
		if last == nil {
			last = &run{}
			all = append(all, last)
		}
		last.nodes = append(last.nodes, n)
	}
	for _, r := range all {
		for _, n := range r.nodes {
			if len(r.nodes) > 1 {
				runOf[n.ID] = r
			}
		}
	}
	if len(runOf) > 0 {
		t.replaceRuns(runOf, t.prunedNode)
	}
}

// prunedNode returns the node for a run of pruned bundles. It has the ID of its first bundle.
func (*chart) prunedNode(r *run) diagram.Node {
	first, last := r.nodes[0], r.nodes[len(r.nodes)-1]
	n := diagram.Node{ID: first.ID, Label: counted(len(r.nodes), "bundle"), Detail: first.Label + " to " + last.Label, Marks: []string{pruned}}
	for _, m := range r.nodes {
		n.Names = append(n.Names, m.ID)
	}
	return n
}
