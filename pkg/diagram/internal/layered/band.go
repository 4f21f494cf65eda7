package layered

// A band is a run of columns: one row of the drawing.
type band struct {
	part    *part
	number  int
	first   int       // rank of the first column
	columns []*column // by rank
	slots   []*slot   // unordered
	gaps    []*gap    // gaps[i] is left of columns[i]; the last one right of all
	gutter  gutter    // below the band
	rect    Rect
}

// A column contains the slots of one rank.
type column struct {
	x, width float64
	slots    []*slot // from the top
}

// A slot is the position in a column of an item or of a line that passes through.
type slot struct {
	item        *item // nil for a line passing through
	spine       bool
	index       int // in the column
	height      float64
	head        float64 // space above
	y           float64 // of the middle
	left, right []link
}

// A link leads to a slot in the next column.
type link struct {
	to     *slot
	weight int
}

// cut divides the ranks into bands that fit the width. It cuts where few lines pass and so that the
// bands have similar widths.
func (p *part) cut() {
	last := 0
	for _, it := range p.items {
		last = max(last, it.rank)
	}
	widths := make([]float64, last+1)
	labels := make([]float64, last+2) // of lines that end before a column
	passing := make([]int, last+2)    // lines over the cut before a rank
	for _, it := range p.items {
		widths[it.rank] = max(widths[it.rank], it.size.W)
	}
	for _, a := range p.arcs {
		passing[a.from.rank+1]++
		passing[a.to.rank+1]--
		labels[a.from.rank+1] = max(labels[a.from.rank+1], a.label.W)
	}
	for r := 1; r <= last; r++ {
		passing[r] += passing[r-1]
	}
	gapBefore := func(r int) float64 { return max(gapWidth, labels[r]+2*track) }

	// best[r] is the cost of the ranks before r; from[r] is the rank at which its band begins.
	best := make([]float64, last+2)
	from := make([]int, last+2)
	limit := max(p.graph.Width-2*gapWidth, 1)
	for r := 1; r <= last+1; r++ {
		width := 0.0
		for start := r - 1; start >= 0; start-- {
			width += widths[start]
			if start < r-1 {
				width += gapBefore(start + 1)
			}
			if width > limit && start < r-1 {
				break
			}
			empty := max(0, 1-width/limit)
			if r == last+1 {
				empty *= 0.55 // the last band may be shorter
			}
			cost := best[start] + 3 + empty*empty
			if start > 0 {
				cost += float64(passing[start])
			}
			if start == r-1 || cost < best[r] {
				best[r], from[r] = cost, start
			}
		}
	}
	var starts []int
	for r := last + 1; r > 0; r = from[r] {
		starts = append(starts, from[r])
	}
	of := make([]*band, last+1)
	for i := len(starts) - 1; i >= 0; i-- {
		b := &band{part: p, number: len(p.bands), first: starts[i]}
		end := last + 1
		if i > 0 {
			end = starts[i-1]
		}
		for r := starts[i]; r < end; r++ {
			b.columns = append(b.columns, &column{width: widths[r]})
			b.gaps = append(b.gaps, &gap{base: gapBefore(r)})
			of[r] = b
		}
		b.gaps = append(b.gaps, &gap{})
		b.gaps[0].base = 0
		p.bands = append(p.bands, b)
	}
	for _, it := range p.items {
		it.band = of[it.rank]
	}
	p.fill()
}

// fill assigns items, and lines that pass through columns of their own band, to slots.
func (p *part) fill() {
	slots := make(map[*item]*slot, len(p.items))
	for _, it := range p.items {
		s := &slot{item: it, height: it.size.H, head: p.graph.Head, spine: it.spine}
		if len(it.members) > 1 {
			s.head = 0 // the frame contains it
		}
		slots[it] = s
		it.band.add(it.rank, s)
	}
	for _, a := range p.arcs {
		if a.from.band != a.to.band {
			continue
		}
		before := slots[a.from]
		for r := a.from.rank + 1; r < a.to.rank; r++ {
			s := &slot{height: lineSpace, spine: a.spine}
			a.through = append(a.through, s)
			a.from.band.add(r, s)
			connectSlots(before, s, a)
			before = s
		}
		connectSlots(before, slots[a.to], a)
	}
}

func (b *band) add(rank int, s *slot) {
	c := b.columns[rank-b.first]
	s.index = len(c.slots)
	c.slots = append(c.slots, s)
	b.slots = append(b.slots, s)
}

// connectSlots links neighbors. Lines through columns pull strongest: a bend in a line is worse
// than a box that is off its position.
func connectSlots(left, right *slot, a *arc) {
	weight := a.weight
	if left.item == nil && right.item == nil {
		weight *= 8
	}
	left.right = append(left.right, link{right, weight})
	right.left = append(right.left, link{left, weight})
}
