package layered

// settling is how often the places of a column follow those of its neighbours.
const settling = 8

// place finds the heights of a band's spots. The spine is level; everything else
// stands below it, as near to its neighbours' height as the order allows.
func (b *band) place() {
	level := 0.0 // the middle of the spine
	for _, s := range b.spots {
		if s.spine {
			level = max(level, s.head+s.height/2)
		}
	}
	for _, c := range b.columns {
		y := 0.0
		for i, s := range c.spots {
			if i > 0 {
				y += rowGap
			}
			s.y = y + s.head + s.height/2
			if tier(s) == 0 {
				s.y = level
			}
			y = s.y + s.height/2
		}
	}
	for i := range settling {
		for j := range b.columns {
			if i%2 == 1 {
				j = len(b.columns) - 1 - j
			}
			b.columns[j].settle()
		}
	}
	for _, s := range b.spots {
		s.y = round(s.y)
	}
}

// A block is a run of spots that touch each other and move as one.
type block struct {
	spots       int     // how many
	sum, weight float64 // of wishes for the block's first middle
}

func (b block) at() float64 { return b.sum / b.weight }

// settle moves the spots of a column to where their neighbours pull them, in
// order and without overlap: the least sum of squares under these conditions
// (pool adjacent violators).
func (c *column) settle() {
	var (
		blocks  []block
		offsets = make([]float64, len(c.spots)) // from the first middle, all touching
	)
	for i, s := range c.spots {
		least := s.head + s.height/2
		if i > 0 {
			before := c.spots[i-1]
			offsets[i] = offsets[i-1] + before.height/2 + rowGap + s.head + s.height/2
		} else {
			offsets[i] = least
		}
		wish, weight := s.wish()
		blocks = append(blocks, block{1, (wish - offsets[i]) * weight, weight})
		for n := len(blocks); n > 1 && blocks[n-2].at() > blocks[n-1].at(); n = len(blocks) {
			a, z := blocks[n-2], blocks[n-1]
			blocks = append(blocks[:n-2], block{a.spots + z.spots, a.sum + z.sum, a.weight + z.weight})
		}
	}
	i := 0
	for _, b := range blocks {
		shift := max(0, b.at()) // nothing above the top
		for range b.spots {
			c.spots[i].y = offsets[i] + shift
			i++
		}
	}
}

// wish is where a spot would like its middle to be, and how much. The spine does
// not move.
func (s *spot) wish() (y, weight float64) {
	if tier(s) == 0 {
		return s.y, 1e9
	}
	sum, total := 0.0, 0.0
	for _, links := range [][]link{s.left, s.right} {
		for _, l := range links {
			sum += l.to.y * float64(l.weight)
			total += float64(l.weight)
		}
	}
	if total == 0 {
		return s.y, 0.01
	}
	return sum / total, total
}
