// Package layered finds places for the boxes and lines of a directed graph.
//
// It knows sizes and nothing of looks. The way is the one of layered drawings:
//
//	acyclic   edges that close a cycle are taken the other way round
//	pack      boxes that only lead to the same places become a grid in a frame
//	rank      every box gets a column, left of everything that it leads to
//	band      the row of columns is cut into bands that fit the width, like
//	          the lines of a text
//	order     boxes of a column are ordered so that few lines cross
//	place     coordinates; the longest path is a straight line on top
//	route     lines: curves between columns of a band, rounded right angles in
//	          the gutters between bands
//
// What holds of every result: boxes do not overlap, and lines keep to the gaps
// between columns, the gutters between bands, and rows of their own. The same
// graph gives the same result. Time and memory are near to linear in boxes and
// edges, since an edge that is longer than a band does not pass through the
// columns.
package layered

import (
	"cmp"
	"math"
	"slices"
)

// A Graph is what is to be laid out.
type Graph struct {
	// Boxes are sizes in user units, and Edges refer to them by index. Where
	// nothing else decides, boxes stand in this order.
	Boxes []Size
	Edges []Edge
	// Width is what the result should not be wider than. A single box that is
	// wider is not cut.
	Width float64
	// Head is the room above each box that nothing else may take.
	Head float64
}

// A Size is a width and a height.
type Size struct{ W, H float64 }

// An Edge leads from one box to another, drawn from left to right.
type Edge struct {
	From, To int
	// Class keeps lines apart: only lines of one class may run together. All of
	// a class have the same text.
	Class int
	// Weight says how much the line wants to be short and straight, from 1.
	Weight int
	// Label is the room that a text on the line takes; zero where it has none.
	Label Size
}

// A Result is a laid-out graph. The upper left corner is 0, 0.
type Result struct {
	Width, Height float64
	Boxes         []Rect  // as in the graph
	Frames        []Frame // around packs
	Routes        []Route
}

// A Rect is a box with its upper left corner.
type Rect struct{ X, Y, W, H float64 }

// A Point is a place.
type Point struct{ X, Y float64 }

// A Frame stands around boxes that have everything in common.
type Frame struct {
	Rect
	Members []int
}

// A Route is the line of one edge, or of the same edges of all boxes in a frame.
type Route struct {
	Edges []int
	// Path begins where the arrow's tip is and leads back, so that the dashes of
	// lines that run together fall on each other.
	Path Path
	// Backward says that the tip is at a box's right side: the edge closes a
	// cycle.
	Backward bool
	// Label is the middle of the text on the line. Labelled says that there was
	// room for it.
	Label    Point
	Labelled bool
}

// Distances, in user units.
const (
	gapWidth    = 40.0 // between two columns, at least
	rowGap      = 12.0 // between two boxes of a column, beside Graph.Head
	lineRoom    = 10.0 // what a line takes where it passes a column
	track       = 9.0  // between two parallel lines
	bandGap     = 22.0 // between two bands, beside the lines there
	framePad    = 9.0  // between a frame and its boxes
	cornerRound = 8.0
	partGap     = 36.0 // between parts of the graph that nothing connects
)

// Lay lays a graph out. Edges from a box to itself are left out.
func Lay(g Graph) Result {
	parts := split(g)
	var (
		result  = Result{Boxes: make([]Rect, len(g.Boxes))}
		x, y    float64
		shelf   float64
		started bool
	)
	for _, p := range parts {
		p.lay()
		// Parts stand side by side as long as there is room.
		if started && x+p.size.W > g.Width {
			x, y, shelf = 0, y+shelf+partGap, 0
		}
		p.addTo(&result, Point{x, y})
		result.Width = max(result.Width, x+p.size.W)
		x += p.size.W + partGap
		shelf = max(shelf, p.size.H)
		started = true
	}
	result.Height = y + shelf
	slices.SortFunc(result.Routes, func(a, b Route) int { return cmp.Compare(a.Edges[0], b.Edges[0]) })
	return result
}

// A part is a connected piece of the graph on its way to coordinates.
type part struct {
	graph Graph
	items []*item
	arcs  []*arc
	bands []*band
	size  Size
}

// An item is a box, or several in a frame, that stand in one column.
type item struct {
	members []int // indexes of boxes
	columns int   // of the grid, where there are several
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
	through  []*spot // in the columns between, where it stays in its band
	path     Path
}

func (p *part) lay() {
	p.acyclic()
	p.rank()
	p.findSpine()
	p.cut()
	for _, b := range p.bands {
		b.order()
		b.place()
	}
	p.route()
}

// addTo moves the part to its place in the result.
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

// round cuts off what no eye sees, so that no machine's last bit shows.
func round(f float64) float64 { return math.Round(f*4) / 4 }
