package diagram

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/diagram/internal/layered"
)

// Distances of a page, in pixels.
const (
	pageWidth  = 1400.0 // about the width of a screen
	pageMin    = 620.0  // minimum, for title and legend
	pageMargin = 28.0
	textSize   = 12.0
	lineHeight = 18.0
)

// writeSVG draws everything on one page: title, legend, and the graphs below each other.
func writeSVG(w *bufio.Writer, d *Drawing) error {
	v := d.vocabulary()
	boxes := sizeBoxes(d, v)
	inner := pageWidth - 2*pageMargin

	graphs := make([]*placedGraph, len(d.Graphs))
	width := pageMin - 2*pageMargin
	for i := range d.Graphs {
		graphs[i] = layOut(&d.Graphs[i], v, boxes, inner)
		width = max(width, graphs[i].layout.Width+shadow)
	}
	width = max(width, min(inner, textWidth(plain(d.Title), 21, true)))

	// The body is written first, because its height is in the page's header.
	var body strings.Builder
	page := &page{w: &body, v: v, boxes: boxes, width: width, y: pageMargin}
	page.heading(d)
	page.legend(d)
	for i, p := range graphs {
		page.graph(p, i > 0 || len(d.Graphs) > 1)
	}

	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" role="img" aria-labelledby="gantry-title gantry-desc">`+"\n",
		number(math.Ceil(width+2*pageMargin)), number(math.Ceil(page.y+pageMargin)))
	fmt.Fprintf(w, "<title id=\"gantry-title\">%s</title>\n", xmlText(d.Title))
	fmt.Fprintf(w, "<desc id=\"gantry-desc\">%s</desc>\n", xmlText(d.summary(v)))
	fmt.Fprintf(w, "<style>%s</style>\n<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n", svgStyle)
	_, err := w.WriteString(body.String() + "</svg>\n")
	return err
}

// summary describes the picture in words, for screen readers.
func (d *Drawing) summary(v vocabulary) string {
	sentences := append([]string{}, d.Notes...)
	for _, g := range d.Graphs {
		s := fmt.Sprintf("%s: %s nodes", g.Title, Count(len(g.Nodes)))
		for _, n := range g.Nodes {
			if v.has(n.Marks, Strong) {
				s += fmt.Sprintf("; %s is %s", n.ID, strings.Join(v.words(n.Marks), ", "))
			}
		}
		sentences = append(sentences, s+".")
	}
	return strings.Join(sentences, " ")
}

// A page is written from the top down.
type page struct {
	w     io.Writer
	v     vocabulary
	boxes boxSize
	width float64 // between the margins
	y     float64 // of the next element
	// inline leaves out the tooltips of edges: a page has hundreds of drawings.
	inline bool
}

func (p *page) text(class string, x, y float64, s string) {
	fmt.Fprintf(p.w, "<text class=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n", class, number(x), number(y), xmlText(s))
}

func (p *page) heading(d *Drawing) {
	p.y += 18
	p.text("title", pageMargin, p.y, fit(plain(d.Title), p.width, 21, true))
	p.y += 8
	for _, note := range d.Notes {
		p.paragraph(note)
	}
}

func (p *page) paragraph(s string) {
	for _, line := range wrap(plain(s), p.width, textSize) {
		p.y += lineHeight
		p.text("note", pageMargin, p.y-4, line)
	}
}

// graph draws one graph, below a title and, if there are several graphs, a rule.
func (p *page) graph(g *placedGraph, several bool) {
	p.y += 20
	if several {
		p.y += 6
		fmt.Fprintf(p.w, "<line class=\"rule\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%[2]s\"/>\n", number(pageMargin), number(p.y), number(pageMargin+p.width))
		p.y += 12
	}
	p.y += 16
	title := fit(plain(g.graph.Title), p.width*0.7, 16, true)
	p.text("graph", pageMargin, p.y, title)
	x := pageMargin + textWidth(title, 16, true) + 10
	for _, m := range p.v.sorted(g.graph.Marks) {
		x += p.badge(x, p.y-12, m) + 5
	}
	p.y += 2
	for _, note := range g.graph.Notes {
		p.paragraph(note)
	}
	p.y += 12
	fmt.Fprintf(p.w, "<g transform=\"translate(%s %s)\">\n", number(pageMargin), number(p.y))
	for _, frame := range g.layout.Frames {
		fmt.Fprintf(p.w, "<rect class=\"frame\" %s rx=\"10\"/>\n", rectangle(frame.Rect))
	}
	for _, route := range g.layout.Routes {
		p.edge(g, route)
	}
	for i, n := range g.graph.Nodes {
		p.node(n, g.layout.Boxes[i])
	}
	for _, route := range g.layout.Routes {
		p.edgeLabel(g, route)
	}
	fmt.Fprint(p.w, "</g>\n")
	p.y += g.layout.Height + shadow
}

// number formats a coordinate as short as possible.
func number(f float64) string {
	return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64)
}

func rectangle(r layered.Rect) string {
	return `x="` + number(r.X) + `" y="` + number(r.Y) + `" width="` + number(r.W) + `" height="` + number(r.H) + `"`
}

// xmlText escapes a text for XML, as content or as an attribute.
func xmlText(lines ...string) string {
	var out strings.Builder
	for i, line := range lines {
		if i > 0 {
			out.WriteByte('\n')
		}
		// Writing to a strings.Builder never fails.
		_ = xml.EscapeText(&out, []byte(plain(line)))
	}
	return out.String()
}
