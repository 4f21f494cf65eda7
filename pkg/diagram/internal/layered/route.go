package layered

import (
	"cmp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A net is the lines that may share a track: those of one class to one item.
type net struct {
	to    *item
	class int
}

// A gap is the space left or right of a column. Lines of other bands run through it vertically:
// those that leave on its left side and those that arrive on its right.
type gap struct {
	base              float64
	x, width          float64
	leaving, coming   []net // each on a track of its own
	leaveAt, arriveAt map[net]float64
}

// pitch is the distance of parallel lines in a gap. It is smaller if there are many lines.
func (g *gap) pitch() float64 {
	return track / max(1, float64(len(g.leaving)+len(g.coming))/24)
}

// A gutter is the space below a band, where lines run horizontally.
type gutter struct {
	height float64
	runs   []*run
	of     map[net]*run
}

// A run is the part of a net in a gutter.
type run struct {
	net      net
	from, to float64
	lane     int
	y        float64
}

// routing is the state of routing the lines of a part.
type routing struct {
	part   *part
	margin []net // left of all bands, for lines over more than two of them
	at     map[net]float64
	left   float64 // x of the first columns
}

// route computes the widths of gaps and the heights of gutters, and with them all coordinates and
// paths.
func (p *part) route() {
	r := routing{part: p, at: map[net]float64{}}
	r.assign()
	r.columns()
	r.gutters()
	r.bands()
	for _, a := range p.arcs {
		if a.from.band == a.to.band {
			a.path = inside(a)
		} else {
			a.path = r.between(a)
		}
	}
}

// assign gives every line between bands its tracks in gaps and margin.
func (r *routing) assign() {
	for _, a := range r.part.arcs {
		if a.from.band == a.to.band {
			continue
		}
		n := net{a.to, a.class}
		leave, arrive := a.leaves(), a.arrives()
		if !slices.Contains(leave.leaving, n) {
			leave.leaving = append(leave.leaving, n)
		}
		if !slices.Contains(arrive.coming, n) {
			arrive.coming = append(arrive.coming, n)
		}
		if _, seen := r.at[n]; !seen && a.to.band.number > a.from.band.number+1 {
			r.at[n] = float64(len(r.margin)) * track
			r.margin = append(r.margin, n)
		}
	}
}

// leaves returns the gap right of the arc's start, arrives the gap left of its end.
func (a *arc) leaves() *gap  { return a.from.band.gaps[a.from.rank-a.from.band.first+1] }
func (a *arc) arrives() *gap { return a.to.band.gaps[a.to.rank-a.to.band.first] }

// columns computes all x coordinates.
func (r *routing) columns() {
	for _, b := range r.part.bands {
		first := b.gaps[0]
		if n := len(first.coming); n > 0 {
			r.left = max(r.left, float64(n)*first.pitch()+2*track)
		}
	}
	margin := 0.0
	if len(r.margin) > 0 {
		margin = float64(len(r.margin)) * track
	}
	r.left += margin
	for _, b := range r.part.bands {
		x := r.left
		for i, g := range b.gaps {
			lines := float64(len(g.leaving) + len(g.coming))
			g.width = g.base
			if lines > 0 {
				g.width += (lines + 1) * g.pitch()
			}
			if i == 0 {
				g.width = 0
			}
			g.x = x
			x += g.width
			g.leaveAt, g.arriveAt = map[net]float64{}, map[net]float64{}
			for j, n := range g.leaving {
				g.leaveAt[n] = g.x + track + float64(j)*g.pitch()
			}
			for j, n := range g.coming {
				g.arriveAt[n] = x - 2*track - float64(j)*g.pitch()
			}
			if i < len(b.columns) {
				b.columns[i].x = x
				x += b.columns[i].width
			}
		}
		b.rect = Rect{X: r.left, W: x - r.left}
		for _, c := range b.columns {
			for _, s := range c.slots {
				b.rect.H = max(b.rect.H, s.y+s.height/2)
			}
		}
	}
}

// gutters gives the lines between bands their lanes, each the first one that is free.
func (r *routing) gutters() {
	for _, a := range r.part.arcs {
		if a.from.band == a.to.band {
			continue
		}
		n := net{a.to, a.class}
		leave, arrive := a.leaves().leaveAt[n], a.arrives().arriveAt[n]
		upper, lower := &a.from.band.gutter, &r.part.bands[a.to.band.number-1].gutter
		if upper == lower {
			upper.extend(n, leave, arrive)
			continue
		}
		upper.extend(n, leave, r.at[n])
		lower.extend(n, r.at[n], arrive)
	}
	for _, b := range r.part.bands[:len(r.part.bands)-1] {
		g := &b.gutter
		elements.Sort(g.runs, func(x, y *run) int { return cmp.Compare(x.from, y.from) })
		var ends []float64 // of lanes
		for _, run := range g.runs {
			run.lane = slices.IndexFunc(ends, func(end float64) bool { return end+track <= run.from })
			if run.lane < 0 {
				run.lane = len(ends)
				ends = append(ends, 0)
			}
			ends[run.lane] = run.to
		}
		g.height = bandGap + float64(max(0, len(ends)-1))*track
		for _, run := range g.runs {
			run.y = bandGap/2 + float64(run.lane)*track
		}
	}
}

// extend extends a net's run from one x to another.
func (g *gutter) extend(n net, x1, x2 float64) {
	if g.of == nil {
		g.of = map[net]*run{}
	}
	from, to := min(x1, x2), max(x1, x2)
	if known := g.of[n]; known != nil {
		known.from, known.to = min(known.from, from), max(known.to, to)
		return
	}
	g.of[n] = &run{net: n, from: from, to: to}
	g.runs = append(g.runs, g.of[n])
}

// bands stacks the bands and gives every item its rectangle.
func (r *routing) bands() {
	y := 0.0
	for _, b := range r.part.bands {
		b.rect.Y = y
		for i, c := range b.columns {
			for _, s := range c.slots {
				s.y = round(s.y + y)
				if s.item == nil {
					continue
				}
				x := c.x
				if len(s.left) == 0 && i > 0 {
					x += c.width - s.item.size.W // near its successor
				}
				s.item.rect = Rect{round(x), s.y - s.height/2, s.item.size.W, s.item.size.H}
			}
		}
		bottom := y + b.rect.H
		for _, run := range b.gutter.runs {
			run.y = round(bottom + run.y)
		}
		y = bottom + b.gutter.height
		r.part.size.W = max(r.part.size.W, b.rect.X+b.rect.W)
		r.part.size.H = bottom
	}
}

func (r Rect) middle() float64 { return r.Y + r.H/2 }

// inside returns the path of an arc within a band: level through columns, curves over gaps.
func inside(a *arc) Path {
	b := a.from.band
	path := Path{Start: Point{a.to.rect.X, a.to.rect.middle()}}
	for rank := a.to.rank; ; rank-- {
		c, before := b.columns[rank-b.first], b.columns[rank-b.first-1]
		path.line(Point{round(c.x), path.end().Y})
		y := a.from.rect.middle()
		if rank-1 > a.from.rank {
			y = a.through[rank-1-a.from.rank-1].y
		}
		path.curve(Point{round(before.x + before.width), y})
		if rank-1 == a.from.rank {
			break
		}
	}
	path.line(Point{a.from.rect.X + a.from.rect.W, a.from.rect.middle()})
	if a.backward {
		return path.reverse()
	}
	return path
}

// between returns the path of an arc from one band to another.
func (r *routing) between(a *arc) Path {
	n := net{a.to, a.class}
	leave, arrive := round(a.leaves().leaveAt[n]), round(a.arrives().arriveAt[n])
	upper, lower := &a.from.band.gutter, &r.part.bands[a.to.band.number-1].gutter
	points := []Point{
		{a.to.rect.X, a.to.rect.middle()},
		{arrive, a.to.rect.middle()},
		{arrive, lower.of[n].y},
	}
	if upper != lower {
		x := round(r.at[n])
		points = append(points, Point{x, lower.of[n].y}, Point{x, upper.of[n].y})
	}
	points = append(points,
		Point{leave, upper.of[n].y},
		Point{leave, a.from.rect.middle()},
		Point{a.from.rect.X + a.from.rect.W, a.from.rect.middle()})
	path := rounded(points)
	if a.backward {
		return path.reverse()
	}
	return path
}
