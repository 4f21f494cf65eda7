package diagram

import (
	"fmt"
	"math"
	"strings"
)

// Inline returns the graphs of a drawing as an SVG element for an HTML page: without title, legend, style sheet and
// tooltips of edges. The
// page has InlineStyle once. The error describes a contradiction in the drawing.
func Inline(d Drawing) (string, error) {
	if err := d.check(); err != nil {
		return "", fmt.Errorf("drawing a graph: %w", err)
	}
	v := d.vocabulary()
	page := &page{v: v, boxes: sizeBoxes(&d, v), y: -pageMargin / 2, inline: true}
	var body strings.Builder
	page.w = &body
	var graphs []*placedGraph
	for i := range d.Graphs {
		g := layOut(&d.Graphs[i], v, page.boxes, inlineWidth-2*pageMargin)
		graphs = append(graphs, g)
		page.width = max(page.width, g.layout.Width+shadow, inlineMin)
	}
	for i, g := range graphs {
		page.graph(g, i > 0)
	}
	width, height := number(math.Ceil(page.width+2*pageMargin)), number(math.Ceil(page.y+pageMargin/2))
	return `<svg xmlns="http://www.w3.org/2000/svg" class="drawing" width="` + width + `" height="` + height + `" viewBox="0 0 ` + width + " " + height +
		`" role="img" aria-label="` + xmlText(d.Title+": "+d.summary(v)) + "\">\n" + body.String() + "</svg>", nil
}

// The width of a drawing in a page, and the minimum of its graphs, for their titles and notes, in pixels.
const (
	inlineWidth = 1140.0
	inlineMin   = 420.0
)

// InlineStyle returns the style sheet for pages with results of Inline. It changes nothing else of such a page.
func InlineStyle() string {
	var b strings.Builder
	for line := range strings.Lines(svgStyle) {
		if selectors, rest, ok := strings.Cut(line, "{"); ok && !strings.HasPrefix(line, "@") {
			line = ".drawing " + strings.ReplaceAll(selectors, ",", ",.drawing ") + "{" + rest
		}
		b.WriteString(line)
	}
	return b.String()
}
