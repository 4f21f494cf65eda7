package diagram

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/diagram/internal/layered"
)

// Distances of a box, in pixels.
const (
	boxPad      = 10.0
	boxLeast    = 84.0
	boxText     = 205.0 // width of a text in a box
	badgeHeight = 14.0
	shadow      = 4.0 // offset of the second sheet
	signRoom    = 18.0
)

// A boxSize is the size of all boxes of a drawing, so that they are aligned.
type boxSize struct {
	width  float64
	head   float64 // space for badges above
	detail bool    // there is a second line
}

// of returns the size of a node's box.
func (b boxSize) of(n Node) layered.Size {
	size := layered.Size{W: b.width, H: 32}
	if b.detail {
		size.H += 13
	}
	if n.Note != "" {
		size.H += 13
	}
	return size
}

// sizeBoxes returns the size that fits every node.
func sizeBoxes(d *Drawing, v vocabulary) boxSize {
	b := boxSize{width: boxLeast}
	for _, g := range d.Graphs {
		for _, n := range g.Nodes {
			label := min(boxText, textWidth(plain(n.Label), 13, true))
			if v.has(n.Marks, Chosen) || v.has(n.Marks, Faded) {
				label += signRoom
			}
			text := max(label,
				min(boxText, textWidth(plain(n.Detail), 10, false)), min(boxText, textWidth(plain(n.Note), 10, false)))
			badges := 0.0
			for _, m := range v.sorted(n.Marks) {
				if badged(m.Look) {
					badges += badgeWidth(m) + 4
				}
			}
			if badges > 0 {
				b.head = badgeHeight / 2
			}
			b.width = max(b.width, text+2*boxPad, badges+boxPad)
			b.detail = b.detail || n.Detail != ""
		}
	}
	return b
}

func badged(look Look) bool {
	return look == Strong || look == Notice || look == Here || look == Badge
}

func badgeWidth(m Mark) float64 { return textWidth(plain(m.Name), 9.5, true) + 11 }

// badge draws a mark's name and returns its width.
func (p *page) badge(x, y float64, m Mark) float64 {
	w := badgeWidth(m)
	fmt.Fprintf(p.w, "<g class=\"badge %s\"><rect %s rx=\"7\"/><text x=\"%s\" y=\"%s\" text-anchor=\"middle\">%s</text></g>\n",
		"is-"+lookClass(m.Look), rectangle(layered.Rect{X: x, Y: y, W: w, H: badgeHeight}), number(x+w/2), number(y+10.3), xmlText(m.Name))
	return w
}

// lookClass returns the class of a look in the style sheet.
func lookClass(look Look) string {
	return map[Look]string{
		Strong: "strong", Chosen: "chosen", Faded: "faded", Dashed: "dashed", Notice: "notice",
		Here: "here", Badge: "plain", Stacked: "stacked", Absent: "absent", Plain: "plain",
	}[look]
}

// node draws a node in its box.
func (p *page) node(n Node, r layered.Rect) {
	marks := p.v.sorted(n.Marks)
	p.open(marks)
	fmt.Fprintf(p.w, "<title>%s</title>", xmlText(n.tooltip(p.v)...))
	p.shape(marks, r)
	x, y := r.X+boxPad, r.Y+21
	p.text("label", x, y, fit(plain(n.Label), boxText, 13, true))
	if p.boxes.detail {
		y += 13.5
		p.text("detail", x, y, fit(plain(n.Detail), boxText, 10, false))
	}
	if n.Note != "" {
		y += 13
		p.text("more", x, y, fit(plain(n.Note), boxText, 10, false))
	}
	at := r.X + boxPad - 2
	for _, m := range marks {
		if badged(m.Look) {
			at += p.badge(at, r.Y-badgeHeight/2, m) + 4
		}
	}
	fmt.Fprint(p.w, "</g>\n")
}

func (p *page) open(marks []Mark) {
	classes := []string{"node"}
	for _, m := range marks {
		if class := lookClass(m.Look); class != "plain" {
			classes = append(classes, class)
		}
	}
	fmt.Fprintf(p.w, "<g class=\"%s\">", strings.Join(classes, " "))
}

// shape draws the outline of a box, with the signs for chosen and faded nodes.
func (p *page) shape(marks []Mark, r layered.Rect) {
	for _, m := range marks {
		if m.Look == Stacked {
			sheet := layered.Rect{X: r.X + shadow, Y: r.Y + shadow, W: r.W, H: r.H}
			fmt.Fprintf(p.w, "<rect class=\"sheet\" %s rx=\"6\"/>", rectangle(sheet))
			break
		}
	}
	fmt.Fprintf(p.w, "<rect class=\"box\" %s rx=\"6\"/>\n", rectangle(r))
	x, y := r.X+r.W-16, r.Y+min(15.5, r.H/2)
	for _, m := range marks {
		switch m.Look {
		case Chosen:
			fmt.Fprintf(p.w, "<path class=\"tick\" d=\"M%s %sl3 3.5l6 -7\"/>\n", number(x), number(y))
		case Faded:
			fmt.Fprintf(p.w, "<path class=\"cross\" d=\"M%s %sl6 6m0 -6l-6 6\"/>\n", number(x+1), number(y-3))
		}
	}
}
