package diagram

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
)

// writeMermaid writes a flowchart with a subgraph for each graph. Mermaid has no tooltips without
// scripts, so boxes show only labels, marks and notes.
func writeMermaid(w *bufio.Writer, d *Drawing) error {
	v := d.vocabulary()
	if title := plain(d.Title); title != "" {
		// The front matter is YAML. In a quoted string only these two characters need a backslash.
		fmt.Fprintf(w, "---\ntitle: \"%s\"\n---\n", strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(title))
	}
	fmt.Fprintln(w, "flowchart LR")
	for i, g := range d.Graphs {
		fmt.Fprintf(w, "  subgraph g%d[\"%s\"]\n    direction LR\n", i, mermaidText(append([]string{v.heading(&g)}, g.Notes...)...))
		ids := make(map[string]string, len(g.Nodes))
		for j, n := range g.Nodes {
			ids[n.ID] = fmt.Sprintf("g%dn%d", i, j)
			lines := []string{n.Label, n.Detail, strings.Join(v.words(n.Marks), ", "), n.Note}
			fmt.Fprintf(w, "    %s(\"%s\")\n", ids[n.ID], mermaidText(lines...))
			if classes := v.mermaidClasses(n.Marks); len(classes) > 0 {
				fmt.Fprintf(w, "    class %s %s\n", ids[n.ID], strings.Join(classes, ","))
			}
		}
		for _, e := range g.Edges {
			if e.Folded {
				continue
			}
			arrow := map[Line]string{Solid: "-->", Dash: "-.->", Dots: "-.->"}[v.kinds[e.Kind].Line]
			word := ""
			if v.kinds[e.Kind].Line != Solid {
				word = e.Kind // Mermaid has one broken line only
			}
			if e.Label != "" {
				word = e.Label
			}
			if word != "" {
				arrow += `|"` + mermaidText(word) + `"|`
			}
			fmt.Fprintf(w, "    %s %s %s\n", ids[e.From], arrow, ids[e.To])
		}
		fmt.Fprintln(w, "  end")
	}
	for look := range lastLook + 1 {
		if name, style := mermaidClass(look); name != "" && d.shows(v, look) {
			fmt.Fprintf(w, "  classDef %s %s\n", name, style)
		}
	}
	return nil
}

// mermaidClass returns the class of a look and its style, or empty strings if it has none.
func mermaidClass(look Look) (name, style string) {
	switch look {
	case Strong:
		return "strong", "stroke-width:3px"
	case Chosen:
		return "chosen", "fill:#dff3e4,stroke:#1a7f37,color:#1f2328"
	case Faded:
		return "faded", "fill:#f3f4f6,stroke:#afb8c1,color:#6e7781"
	case Dashed:
		return "dashed", "stroke-dasharray:5 3"
	case Notice:
		return "notice", "stroke:#9a6700"
	case Here:
		return "here", "stroke:#0a58ca,stroke-width:3px"
	case Absent:
		return "absent", "fill:none,stroke-dasharray:1 3"
	default:
		return "", ""
	}
}

func (v vocabulary) mermaidClasses(marks []string) []string {
	var classes []string
	seen := map[string]bool{}
	for _, m := range v.sorted(marks) {
		if name, _ := mermaidClass(m.Look); name != "" && !seen[name] {
			seen[name] = true
			classes = append(classes, name)
		}
	}
	return classes
}

// shows reports whether a node of the drawing has a mark with a look.
func (d *Drawing) shows(v vocabulary, look Look) bool {
	for _, g := range d.Graphs {
		if slices.ContainsFunc(g.Nodes, func(n Node) bool { return v.has(n.Marks, look) }) {
			return true
		}
	}
	return false
}

// mermaidText returns lines as the content of a quoted string. Mermaid accepts character references
// without the ampersand. Every character that has a meaning in Mermaid, Markdown or HTML is written
// as one.
func mermaidText(lines ...string) string {
	var out strings.Builder
	for _, line := range lines {
		if line = plain(line); line == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("<br/>")
		}
		for i, r := range line {
			// "1. " and "- " would begin a list.
			list := i == 0 && strings.ContainsRune("-+", r) || r == '.' && strings.HasPrefix(line[i:], ". ")
			if list || strings.ContainsRune("\"'`#&<>\\;{}[]|*_~%$@", r) {
				fmt.Fprintf(&out, "#%d;", r)
				continue
			}
			out.WriteRune(r)
		}
	}
	if out.Len() == 0 {
		return " " // a quoted text of nothing is no text
	}
	return out.String()
}
