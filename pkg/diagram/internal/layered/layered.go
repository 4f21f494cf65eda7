// Package layered computes coordinates for the boxes and lines of a directed graph.
//
// It knows sizes, but not looks. It uses the method of layered drawings:
//
//	acyclic   edges that close a cycle are reversed
//	pack      boxes with the same successors become a grid in a frame
//	rank      every box gets a column, left of everything that it leads to
//	band      the row of columns is cut into bands that fit the width, like
//	          the lines of a text
//	order     the boxes of a column are ordered so that few lines cross
//	position  coordinates; the longest path is a straight line on top
//	route     lines: curves between columns of a band, rounded right angles in
//	          the gutters between bands
//
// In every result, boxes do not overlap, and lines keep to the gaps between columns, the gutters
// between bands, and rows of their own. The same graph gives the same result. Time and memory are
// nearly linear in boxes and edges, because an edge that is longer than a band does not pass
// through the columns.
package layered

import (
	"cmp"
	"math"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Graph is the input of Layout.
type Graph struct {
	// Boxes are sizes in user units, and Edges refer to them by index. Boxes keep this order unless
	// edges decide otherwise.
	Boxes []Size
	Edges []Edge
	// Width is the desired maximum width of the result. A single wider box is not cut.
	Width float64
	// Head is the space above each box that is kept free.
	Head float64
}

// A Size is a width and a height.
type Size struct{ W, H float64 }

// An Edge leads from one box to another, drawn from left to right.
type Edge struct {
	From, To int
	// Class separates lines: only lines of one class may share a track. All lines of a class have
	// the same text.
	Class int
	// Weight is how important it is that the line is short and straight, from 1.
	Weight int
	// Label is the size of the text on the line, zero if it has none.
	Label Size
}

// A Result is a laid-out graph. The upper left corner is 0, 0.
type Result struct {
	Width, Height float64
	Boxes         []Rect  // in the order of the graph
	Frames        []Frame // around packs
	Routes        []Route
}

// A Rect is a box with its upper left corner.
type Rect struct{ X, Y, W, H float64 }

// A Point is a position.
type Point struct{ X, Y float64 }

// A Frame surrounds boxes with the same successors.
type Frame struct {
	Rect
	Members []int
}

// A Route is the line of one edge, or of the same edge of all boxes in a frame.
type Route struct {
	Edges []int
	// Path begins at the tip of the arrow and leads back, so that the dashes of lines that share a
	// track coincide.
	Path Path
	// Backward reports whether the tip is at a box's right side, because the edge closes a cycle.
	Backward bool
	// Label is the middle of the text on the line. Labelled reports whether there was space for it.
	Label    Point
	Labelled bool
}

// Distances, in user units.
const (
	gapWidth    = 40.0 // between two columns, at least
	rowGap      = 12.0 // between two boxes of a column, beside Graph.Head
	lineSpace   = 10.0 // height of a line that passes a column
	track       = 9.0  // between two parallel lines
	bandGap     = 22.0 // between two bands, beside the lines there
	framePad    = 9.0  // between a frame and its boxes
	cornerRound = 8.0
	partGap     = 36.0 // between unconnected parts of the graph
)

// Layout computes the layout of a graph. Edges from a box to itself are omitted.
func Layout(g Graph) Result {
	parts := split(g)
	var (
		result    = Result{Boxes: make([]Rect, len(g.Boxes))}
		x, y      float64
		rowHeight float64
		started   bool
	)
	for _, p := range parts {
		p.layout()
		// Parts are placed side by side while they fit.
		if started && x+p.size.W > g.Width {
			x, y, rowHeight = 0, y+rowHeight+partGap, 0
		}
		p.addTo(&result, Point{x, y})
		result.Width = max(result.Width, x+p.size.W)
		x += p.size.W + partGap
		rowHeight = max(rowHeight, p.size.H)
		started = true
	}
	result.Height = y + rowHeight
	elements.Sort(result.Routes, func(a, b Route) int { return cmp.Compare(a.Edges[0], b.Edges[0]) })
	return result
}

// A part is a connected component of the graph.
type part struct {
	graph Graph
	items []*item
	arcs  []*arc
	bands []*band
	size  Size
}

// An item is a box, or several in a frame, in one column.
type item struct {
	members []int // indexes of boxes
	columns int   // of the grid, if there are several members
	size    Size
	in, out []*arc
	rank    int
	spine   bool // on the line that is kept straight
	band    *band
	rect    Rect
}

// An arc is an edge between items, or several that look the same.
type arc struct {
	from, to *item
	edges    []int
	class    int
	weight   int
	label    Size
	backward bool
	spine    bool
	through  []*slot // in the columns between, where it stays in its band
	path     Path
}

func (p *part) layout() {
	p.acyclic()
	p.rank()
	p.findSpine()
	p.cut()
	for _, b := range p.bands {
		b.order()
		b.position()
	}
	p.route()
}

// addTo moves the part to its position in the result.
func (p *part) addTo(r *Result, at Point) {
	for _, it := range p.items {
		rect := it.rect.move(at)
		if len(it.members) > 1 {
			r.Frames = append(r.Frames, Frame{rect, it.members})
		}
		for i, member := range it.members {
			r.Boxes[member] = p.cell(it, i, rect)
		}
	}
	labels := labelling{}
	for _, it := range p.items {
		labels.rects = append(labels.rects, it.rect.move(at))
	}
	for _, a := range p.arcs {
		route := Route{Edges: a.edges, Path: a.path.move(at), Backward: a.backward}
		if a.label.W > 0 {
			route.Label, route.Labelled = labels.find(route.Path, a.label)
		}
		r.Routes = append(r.Routes, route)
	}
}

func (r Rect) move(by Point) Rect { return Rect{r.X + by.X, r.Y + by.Y, r.W, r.H} }

// round drops invisible fractions, so that the result does not depend on the machine's arithmetic.
func round(f float64) float64 { return math.Round(f*4) / 4 }
