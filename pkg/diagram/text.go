package diagram

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// writeText writes each graph as a tree from its last version down. Below a node are the nodes that
// update to it: first the side paths, indented, then the longest path in line with it. Every node
// appears once; edges are listed behind it.
func writeText(w *bufio.Writer, d *Drawing) error {
	v := d.vocabulary()
	for _, line := range append([]string{d.Title}, d.Notes...) {
		if line = plain(line); line != "" {
			fmt.Fprintln(w, line)
		}
	}
	for _, g := range d.Graphs {
		fmt.Fprintf(w, "\n%s\n", v.heading(&g))
		for _, note := range g.Notes {
			fmt.Fprintf(w, "%s\n", plain(note))
		}
		g.writeTree(w, v)
	}
	return nil
}

// A row is the line of one node: columns (the first has the tree) and the edges into it.
type row struct {
	columns [3]string
	words   string
}

func (g *Graph) writeTree(w *bufio.Writer, v vocabulary) {
	t := newTree(g, v)
	var (
		rows   []row
		widths [3]int
	)
	t.each(func(before string, node int) {
		n := g.Nodes[node]
		columns := [3]string{before + plain(n.Label), plain(n.Detail), strings.Join(v.words(n.Marks), ", ")}
		rows = append(rows, row{columns, t.words(node)})
		for i, column := range columns {
			widths[i] = max(widths[i], utf8.RuneCountInString(column))
		}
	})
	for _, r := range rows {
		line := "  "
		for i, column := range r.columns {
			if widths[i] > 0 {
				line += column + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(column)+2)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line+r.words, " "))
	}
}

// A tree is a graph in which every node has at most one successor.
type tree struct {
	graph  *Graph
	v      vocabulary
	below  [][]int // predecessors of each node, the longest path last
	inline []bool  // drawn in line with its successor
	roots  []int
	into   [][]int // indexes of edges into each node, by their number in the graph
	index  map[string]int
}

func newTree(g *Graph, v vocabulary) *tree {
	t := &tree{
		graph: g, v: v, index: make(map[string]int, len(g.Nodes)),
		below: make([][]int, len(g.Nodes)), inline: make([]bool, len(g.Nodes)), into: make([][]int, len(g.Nodes)),
	}
	for i, n := range g.Nodes {
		t.index[n.ID] = i
	}
	up := make([]int, len(g.Nodes)) // successor of each node in the tree, or -1
	by := make([]Line, len(g.Nodes))
	for i := range up {
		up[i] = -1
	}
	for i, e := range g.Edges {
		from, to := t.index[e.From], t.index[e.To]
		t.into[to] = append(t.into[to], i)
		line := v.kinds[e.Kind].Line
		if e.Folded || from == to {
			continue
		}
		// Of equal paths, the one to the later node is preferred.
		if up[from] >= 0 && (by[from] < line || by[from] == line && up[from] > to) {
			continue
		}
		up[from], by[from] = to, line
	}
	breakCycles(up)
	height := heights(up)
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		if up[i] < 0 {
			t.roots = append(t.roots, i)
			continue
		}
		t.below[up[i]] = append(t.below[up[i]], i)
	}
	for _, below := range t.below {
		// Solid paths come before all others, longer ones before shorter ones.
		elements.Sort(below, func(a, b int) int {
			return cmp.Or(-cmp.Compare(min(by[a], Dash), min(by[b], Dash)), cmp.Compare(height[a], height[b]))
		})
		if n := len(below); n > 0 {
			last := below[n-1]
			t.inline[last] = by[last] == Solid || height[last] > 0
		}
	}
	return t
}

// breakCycles removes the successor of one node of every cycle: the last one.
func breakCycles(up []int) {
	const walked = 1
	state := make([]int, len(up)) // 0: unvisited, 1: done, otherwise the number of the current walk
	for i := len(up) - 1; i >= 0; i-- {
		walk := i + 2
		for at := i; at >= 0 && state[at] != walked; at = up[at] {
			if state[at] == walk {
				last := at
				for next := up[at]; next != at; next = up[next] {
					last = max(last, next)
				}
				up[last] = -1
				break
			}
			state[at] = walk
		}
		for at := i; at >= 0 && state[at] == walk; at = up[at] {
			state[at] = walked
		}
	}
}

// heights returns the length of the longest path that ends at each node.
func heights(up []int) []int {
	waiting := make([]int, len(up))
	for _, to := range up {
		if to >= 0 {
			waiting[to]++
		}
	}
	var ready []int
	for i, n := range waiting {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	height := make([]int, len(up))
	for i := 0; i < len(ready); i++ {
		at := ready[i]
		if to := up[at]; to >= 0 {
			height[to] = max(height[to], height[at]+1)
			if waiting[to]--; waiting[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	return height
}

// each visits the tree in the order of its lines.
func (t *tree) each(visit func(before string, node int)) {
	type step struct {
		node   int
		indent string
	}
	var stack []step
	for i := len(t.roots) - 1; i >= 0; i-- {
		stack = append(stack, step{t.roots[i], ""})
	}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		visit(s.indent+"o ", s.node)
		for _, node := range slices.Backward(t.below[s.node]) {
			indent := s.indent
			if !t.inline[node] {
				indent += "| "
			}
			stack = append(stack, step{node, indent})
		}
	}
}

// words describes the edges into a node: "replaces 1.1.0; skips 1.0.1, 1.0.2".
func (t *tree) words(node int) string {
	const named = 3
	type edgeWord struct{ kind, label string }
	from := map[edgeWord][]string{}
	var incoming []edgeWord
	for _, i := range t.into[node] {
		e := t.graph.Edges[i]
		k := edgeWord{e.Kind, e.Label}
		if from[k] == nil {
			incoming = append(incoming, k)
		}
		from[k] = append(from[k], plain(t.graph.Nodes[t.index[e.From]].Label))
	}
	elements.Sort(incoming, func(a, b edgeWord) int {
		return cmp.Or(cmp.Compare(t.v.kindOrder[a.kind], t.v.kindOrder[b.kind]), cmp.Compare(a.label, b.label))
	})
	var parts []string
	for _, k := range incoming {
		part, names := plain(k.kind), from[k]
		switch {
		case k.label == "":
			part += " " + Few(names, named)
		case len(names) <= named:
			part += " " + plain(k.label) + " (" + strings.Join(names, ", ") + ")"
		default:
			part += " " + plain(k.label) + " (" + Count(len(names)) + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}
