package diagram

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/diagram/internal/layered"
)

const labelSize = 10.0

// A placedGraph is a graph with the coordinates of its nodes and edges.
type placedGraph struct {
	graph  *Graph
	edges  []Edge // drawn edges, indexed as in the layout
	layout layered.Result
}

// layOut computes the coordinates of a graph.
func layOut(g *Graph, v vocabulary, boxes boxSize, width float64) *placedGraph {
	p := &placedGraph{graph: g}
	index := make(map[string]int, len(g.Nodes))
	plan := layered.Graph{Width: width, Head: boxes.head, Boxes: make([]layered.Size, len(g.Nodes))}
	for i, n := range g.Nodes {
		index[n.ID] = i
		plan.Boxes[i] = boxes.of(n)
	}
	// Lines that look the same may share a track.
	type look struct {
		kind, label string
		pale        bool
	}
	classes := map[look]int{}
	for _, e := range g.Edges {
		if !drawn(e) {
			continue
		}
		l := look{e.Kind, e.Label, v.has(e.Marks, Faded)}
		if _, known := classes[l]; !known {
			classes[l] = len(classes)
		}
		edge := layered.Edge{From: index[e.From], To: index[e.To], Class: classes[l], Weight: 1}
		if v.kinds[e.Kind].Line == Solid {
			edge.Weight = 3
		}
		if e.Label != "" {
			edge.Label = layered.Size{W: textWidth(edgeText(e), labelSize, false) + 8, H: labelSize + 3}
		}
		p.edges = append(p.edges, e)
		plan.Edges = append(plan.Edges, edge)
	}
	p.layout = layered.Layout(plan)
	return p
}

// drawn reports whether the picture shows an edge. An edge from a node to itself is not drawn.
func drawn(e Edge) bool { return !e.Folded && e.From != e.To }

// edgeText returns an edge's label, shortened to the space in the picture.
func edgeText(e Edge) string { return shorten(plain(e.Label), 28) }

// edge draws a line and its tip.
func (p *page) edge(g *placedGraph, route layered.Route) {
	first := g.edges[route.Edges[0]]
	classes := []string{"edge"}
	switch p.v.kinds[first.Kind].Line {
	case Dash:
		classes = append(classes, "dash")
	case Dots:
		classes = append(classes, "dots")
	}
	if p.v.has(first.Marks, Faded) {
		classes = append(classes, "pale")
	}
	tip := first.tooltip()
	if more := len(route.Edges) - 1; more > 0 {
		tip = append(tip, fmt.Sprintf("and %s more in the frame", Count(more)))
	}
	direction := 1.0
	if route.Backward {
		direction = -1
	}
	fmt.Fprintf(p.w, "<g class=\"%s\">", strings.Join(classes, " "))
	if !p.inline {
		fmt.Fprintf(p.w, "<title>%s</title>", xmlText(tip...))
	}
	fmt.Fprintf(p.w, "<path d=\"%s\"/>", pathData(route.Path, direction))
	at := route.Path.Start
	fmt.Fprintf(p.w, "<path class=\"tip\" d=\"M%s %sl%s -4v8z\"/></g>\n", number(at.X), number(at.Y), number(-8*direction))
}

// pathData returns a path in SVG's notation. It begins inside of the tip, so that the tip stays
// sharp.
func pathData(path layered.Path, direction float64) string {
	var d strings.Builder
	fmt.Fprintf(&d, "M%s %s", number(path.Start.X-6*direction), number(path.Start.Y))
	for _, s := range path.Segments {
		if s.Straight {
			fmt.Fprintf(&d, "L%s %s", number(s.To.X), number(s.To.Y))
			continue
		}
		fmt.Fprintf(&d, "C%s %s %s %s %s %s", number(s.C1.X), number(s.C1.Y), number(s.C2.X), number(s.C2.Y), number(s.To.X), number(s.To.Y))
	}
	return d.String()
}

// edgeLabel writes the text on a line, over a patch in the page's color.
func (p *page) edgeLabel(g *placedGraph, route layered.Route) {
	if !route.Labelled {
		return
	}
	text := edgeText(g.edges[route.Edges[0]])
	w := textWidth(text, labelSize, false) + 4
	patch := layered.Rect{X: route.Label.X - w/2, Y: route.Label.Y - labelSize/2 - 1, W: w, H: labelSize + 2}
	fmt.Fprintf(p.w, "<g class=\"on\"><rect %s/><text x=\"%s\" y=\"%s\" text-anchor=\"middle\">%s</text></g>\n",
		rectangle(patch), number(route.Label.X), number(route.Label.Y+3.5), xmlText(text))
}
