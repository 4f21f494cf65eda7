package diagram

import (
	"bufio"
	"fmt"
	"strings"
)

// writeDOT writes a digraph with a cluster for each graph. Looks become line styles and pen widths;
// the name of every mark is also in its box.
func writeDOT(w *bufio.Writer, d *Drawing) error {
	v := d.vocabulary()
	fmt.Fprintf(w, "digraph gantry {\n")
	fmt.Fprintf(w, "  graph [label=%s, labelloc=t, labeljust=l, rankdir=LR, fontname=\"Helvetica\", compound=true];\n",
		dotText(append([]string{d.Title}, d.Notes...)...))
	fmt.Fprintf(w, "  node [shape=box, style=\"rounded\", fontname=\"Helvetica\", fontsize=11, margin=\"0.12,0.06\"];\n")
	fmt.Fprintf(w, "  edge [fontname=\"Helvetica\", fontsize=9, arrowsize=0.7];\n")
	for i, g := range d.Graphs {
		fmt.Fprintf(w, "  subgraph cluster_%d {\n    label=%s;\n    color=gray;\n", i, dotText(append([]string{v.heading(&g)}, g.Notes...)...))
		ids := make(map[string]string, len(g.Nodes))
		for j, n := range g.Nodes {
			ids[n.ID] = fmt.Sprintf("g%d_%d", i, j)
			lines := []string{n.Label, n.Detail, strings.Join(v.words(n.Marks), ", "), n.Note}
			fmt.Fprintf(w, "    %s [label=%s, tooltip=%s%s];\n", ids[n.ID], dotText(lines...), dotText(n.tooltip(v)...), v.dotLook(n.Marks))
		}
		for _, e := range g.Edges {
			if e.Folded {
				continue
			}
			style := map[Line]string{Solid: "solid", Dash: "dashed", Dots: "dotted"}[v.kinds[e.Kind].Line]
			fmt.Fprintf(w, "    %s -> %s [style=%s, tooltip=%s", ids[e.From], ids[e.To], style, dotText(e.tooltip()...))
			if e.Label != "" {
				fmt.Fprintf(w, ", label=%s", dotText(e.Label))
			}
			if v.has(e.Marks, Faded) {
				fmt.Fprint(w, ", color=gray60")
			}
			fmt.Fprintln(w, "];")
		}
		fmt.Fprintln(w, "  }")
	}
	fmt.Fprintln(w, "}")
	return nil
}

// dotLook returns the attributes of a node's marks, beginning with a comma.
func (v vocabulary) dotLook(marks []string) string {
	style, more := []string{"rounded"}, ""
	switch {
	case v.has(marks, Absent):
		style = append(style, "dotted")
	case v.has(marks, Dashed):
		style = append(style, "dashed")
	}
	if v.has(marks, Strong) {
		style = append(style, "bold")
		more += ", penwidth=2.5"
	}
	switch {
	case v.has(marks, Faded):
		more += ", color=gray60, fontcolor=gray40"
	case v.has(marks, Chosen):
		style = append(style, "filled")
		more += `, fillcolor="#dff3e4", color="#1a7f37"`
	}
	switch {
	case v.has(marks, Here):
		more += `, color="#0a58ca", penwidth=2.5`
	case v.has(marks, Notice):
		more += `, color="#9a6700"`
	}
	return fmt.Sprintf(", style=%q%s", strings.Join(style, ","), more)
}

// Graphviz interprets backslashes and character references in labels.
var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `&`, `&amp;`)

// dotText returns lines as a quoted string.
func dotText(lines ...string) string {
	var kept []string
	for _, line := range lines {
		if line = plain(line); line != "" {
			kept = append(kept, dotEscapes.Replace(line))
		}
	}
	return `"` + strings.Join(kept, `\n`) + `"`
}
