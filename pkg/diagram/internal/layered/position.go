package layered

// relaxations is how often the positions of a column follow those of its neighbors.
const relaxations = 8

// position computes the heights of a band's slots. The spine is level; everything else is below it,
// as near to its neighbors' height as the order allows.
func (b *band) position() {
	level := 0.0 // the middle of the spine
	for _, s := range b.slots {
		if s.spine {
			level = max(level, s.head+s.height/2)
		}
	}
	for _, c := range b.columns {
		y := 0.0
		for i, s := range c.slots {
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
	for i := range relaxations {
		for j := range b.columns {
			if i%2 == 1 {
				j = len(b.columns) - 1 - j
			}
			b.columns[j].relax()
		}
	}
	for _, s := range b.slots {
		s.y = round(s.y)
	}
}

// A block is a run of slots that touch each other and move together.
type block struct {
	slots       int     // number of slots
	sum, weight float64 // of targets for the block's first middle
}

func (b block) at() float64 { return b.sum / b.weight }

// relax moves the slots of a column toward their neighbors, in order and without overlap: the least
// sum of squares under these conditions (pool adjacent violators).
func (c *column) relax() {
	var (
		blocks  []block
		offsets = make([]float64, len(c.slots)) // from the first middle, all touching
	)
	for i, s := range c.slots {
		least := s.head + s.height/2
		if i > 0 {
			before := c.slots[i-1]
			offsets[i] = offsets[i-1] + before.height/2 + rowGap + s.head + s.height/2
		} else {
			offsets[i] = least
		}
		target, weight := s.target()
		blocks = append(blocks, block{1, (target - offsets[i]) * weight, weight})
		for n := len(blocks); n > 1 && blocks[n-2].at() > blocks[n-1].at(); n = len(blocks) {
			a, z := blocks[n-2], blocks[n-1]
			blocks = append(blocks[:n-2], block{a.slots + z.slots, a.sum + z.sum, a.weight + z.weight})
		}
	}
	i := 0
	for _, b := range blocks {
		shift := max(0, b.at()) // nothing above the top
		for range b.slots {
			c.slots[i].y = offsets[i] + shift
			i++
		}
	}
}

// target returns the preferred middle of a slot, and its weight. The spine does not move.
func (s *slot) target() (y, weight float64) {
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
