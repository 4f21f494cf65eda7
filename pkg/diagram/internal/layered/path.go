package layered

import (
	"slices"

	"math"
)

// A Path is a sequence of curves.
type Path struct {
	Start    Point
	Segments []Segment
}

// A Segment is a straight line, or a cubic curve with two control points.
type Segment struct {
	Straight bool
	C1, C2   Point
	To       Point
}

func (p Path) move(by Point) Path {
	at := func(q Point) Point { return Point{q.X + by.X, q.Y + by.Y} }
	moved := Path{Start: at(p.Start), Segments: make([]Segment, len(p.Segments))}
	for i, s := range p.Segments {
		moved.Segments[i] = Segment{s.Straight, at(s.C1), at(s.C2), at(s.To)}
	}
	return moved
}

func (p *Path) end() Point {
	if n := len(p.Segments); n > 0 {
		return p.Segments[n-1].To
	}
	return p.Start
}

// line appends a straight line to a point.
func (p *Path) line(to Point) {
	if p.end() != to {
		p.Segments = append(p.Segments, Segment{Straight: true, To: to})
	}
}

// curve appends a curve to a point, horizontal at both ends.
func (p *Path) curve(to Point) {
	from := p.end()
	if from.Y == to.Y {
		p.line(to)
		return
	}
	middle := (from.X + to.X) / 2
	p.Segments = append(p.Segments, Segment{C1: Point{middle, from.Y}, C2: Point{middle, to.Y}, To: to})
}

// rounded returns a path of right angles with round corners.
func rounded(points []Point) Path {
	path := Path{Start: points[0]}
	for i := 1; i < len(points)-1; i++ {
		before, corner, after := path.end(), points[i], points[i+1]
		r := min(cornerRound, distance(before, corner), distance(corner, after)/2)
		if r < 1 {
			path.line(corner)
			continue
		}
		in, out := toward(corner, before, r), toward(corner, after, r)
		path.line(in)
		// A control point at 0.55 of the distance to the corner gives a quarter circle.
		path.Segments = append(path.Segments, Segment{C1: toward(in, corner, r*0.55), C2: toward(out, corner, r*0.55), To: out})
	}
	path.line(points[len(points)-1])
	return path
}

func distance(a, b Point) float64 { return math.Hypot(a.X-b.X, a.Y-b.Y) }

// reverse returns the same line from its other end.
func (p Path) reverse() Path {
	back := Path{Start: p.end()}
	for i := len(p.Segments) - 1; i >= 0; i-- {
		s := p.Segments[i]
		to := p.Start
		if i > 0 {
			to = p.Segments[i-1].To
		}
		back.Segments = append(back.Segments, Segment{Straight: s.Straight, C1: s.C2, C2: s.C1, To: to})
	}
	return back
}

// toward returns the point at a distance from one point in the direction of another.
func toward(from, to Point, by float64) Point {
	d := distance(from, to)
	if d == 0 {
		return from
	}
	return Point{from.X + (to.X-from.X)*by/d, from.Y + (to.Y-from.Y)*by/d}
}

// at returns the point of a segment that begins at from, for t from 0 to 1.
func (s Segment) at(from Point, t float64) Point {
	if s.Straight {
		return Point{from.X + (s.To.X-from.X)*t, from.Y + (s.To.Y-from.Y)*t}
	}
	u := 1 - t
	mix := func(a, b, c, d float64) float64 {
		return u*u*u*a + 3*u*u*t*b + 3*u*t*t*c + t*t*t*d
	}
	return Point{mix(from.X, s.C1.X, s.C2.X, s.To.X), mix(from.Y, s.C1.Y, s.C2.Y, s.To.Y)}
}

// maxLabels is the number of texts of a part that are placed. A drawing with more would be
// unreadable.
const maxLabels = 2000

// A labelling records the space that boxes and texts occupy.
type labelling struct {
	rects  []Rect
	labels int
}

// find looks along a path for a free position for a text. It begins at the far end, where the edge
// leaves its box.
func (l *labelling) find(path Path, size Size) (Point, bool) {
	if l.labels++; l.labels > maxLabels {
		return Point{}, false
	}
	from := path.Start
	starts := make([]Point, len(path.Segments))
	for i, s := range path.Segments {
		starts[i] = from
		from = s.To
	}
	for i := len(path.Segments) - 1; i >= 0; i-- {
		s := path.Segments[i]
		if math.Abs(s.To.X-starts[i].X) < size.W {
			continue
		}
		for _, t := range []float64{0.5, 0.4, 0.6, 0.3, 0.7} {
			p := s.at(starts[i], t)
			r := Rect{p.X - size.W/2, p.Y - size.H/2, size.W, size.H}
			if !l.taken(r) {
				l.rects = append(l.rects, r)
				return p, true
			}
		}
	}
	return Point{}, false
}

func (l *labelling) taken(r Rect) bool {
	return slices.ContainsFunc(l.rects, func(o Rect) bool { return r.X < o.X+o.W && o.X < r.X+r.W && r.Y < o.Y+o.H && o.Y < r.Y+r.H })
}
