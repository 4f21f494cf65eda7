package diagram

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/diagram/internal/layered"
)

// Distances of the legend, in pixels.
const (
	sampleWidth  = 34.0
	sampleHeight = 20.0
	legendRow    = 28.0
	legendGap    = 24.0 // between two of its words
)

// legend explains the marks and kinds that occur in the drawing.
func (p *page) legend(d *Drawing) {
	marks, kinds := d.used()
	x := pageMargin
	p.y += 12
	top := p.y
	// next returns the position of the next sample and its words.
	next := func(sample float64, words string) (at, y float64) {
		w := sample + 7 + textWidth(words, textSize, false)
		if x > pageMargin && x+w > pageMargin+p.width {
			x = pageMargin
			p.y += legendRow
		}
		at = x
		x += w + legendGap
		return at, p.y
	}
	drawn := false
	for _, m := range d.Marks {
		if !marks[m.Name] || m.Look == Plain {
			continue
		}
		drawn = true
		words := m.About
		if !badged(m.Look) {
			words = m.Name + ": " + m.About
		}
		words = plain(words)
		sample := sampleWidth
		if badged(m.Look) {
			sample = badgeWidth(m)
		}
		at, y := next(sample, words)
		if badged(m.Look) {
			p.badge(at, y+3, m)
		} else {
			p.open([]Mark{m})
			p.shape([]Mark{m}, layered.Rect{X: at, Y: y, W: sampleWidth, H: sampleHeight})
			fmt.Fprint(p.w, "</g>\n")
		}
		p.text("word", at+sample+7, y+14, words)
	}
	for _, k := range d.Kinds {
		if !kinds[k.Name] {
			continue
		}
		drawn = true
		words := plain(k.Name + ": " + k.About)
		at, y := next(sampleWidth, words)
		class := map[Line]string{Solid: "edge", Dash: "edge dash", Dots: "edge dots"}[k.Line]
		fmt.Fprintf(p.w, "<g class=\"%s\"><path d=\"M%s %sH%s\"/><path class=\"tip\" d=\"M%s %sl-8 -4v8z\"/></g>\n",
			class, number(at), number(y+10), number(at+sampleWidth-6), number(at+sampleWidth), number(y+10))
		p.text("word", at+sampleWidth+7, y+14, words)
	}
	if !drawn {
		p.y = top - 12
		return
	}
	p.y += sampleHeight
}

// used returns the marks and kinds that the picture shows.
func (d *Drawing) used() (marks, kinds map[string]bool) {
	marks, kinds = map[string]bool{}, map[string]bool{}
	for _, g := range d.Graphs {
		for _, m := range g.Marks {
			marks[m] = true
		}
		for _, n := range g.Nodes {
			for _, m := range n.Marks {
				marks[m] = true
			}
		}
		for _, e := range g.Edges {
			if drawn(e) {
				kinds[e.Kind] = true
			}
		}
	}
	return marks, kinds
}
