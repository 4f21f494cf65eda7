package delta

// segment is a range of the target.
type segment struct {
	start, end int64
	copied     int64 // address of the same bytes in a base; -1: the range is compared with near
	near       span  // addresses that probably have similar bytes
}

// span is a range of addresses.
type span struct{ start, end int64 }

func (s span) size() int64 { return s.end - s.start }

// piece is a range of the target that one worker encodes.
type piece struct {
	segments []segment
	work     int64 // bytes that are compared
	near     int64 // bytes in bases that they are compared with
}

func (p *piece) end() int64 { return p.segments[len(p.segments)-1].end }

const maxSegments = 4096

// cut divides the target into pieces.
func cut(target *Members, pairings []pairing, u *unpacked, e effort) []piece {
	c := cutter{effort: e, unpacked: u}
	for i, m := range target.Files {
		pair := pairings[i]
		switch {
		case pair.ok && pair.same && m.Size > 0:
			content := c.near(pair.base, pair.Offset, pair.Offset+pair.Size)
			c.compared(m.Start, m.Offset, c.near(pair.base, pair.Start, pair.Offset))
			c.copied(c.position(m.Offset), c.position(m.Offset+m.Size), content.start)
			c.compared(m.Offset+m.Size, m.End, c.near(pair.base, pair.Offset+pair.Size, pair.End))
		case pair.ok:
			c.changed(m, pair)
		default:
			c.compared(m.Start, m.End, span{})
		}
	}
	c.flush()
	return c.pieces
}

type cutter struct {
	*unpacked
	effort effort
	piece  piece // not complete
	pieces []piece
}

// changed adds a member that is compared with one of a base: each unpacked part with the one that has its name, and what is between two such parts with what
// is between these in the base.
func (c *cutter) changed(m Member, pair pairing) {
	at, from := m.Start, pair.Start
	old := within(c.oldNames[pair.base], pair.Member)
	byName := newPartners(old)
	for _, s := range within(c.newNames, m) {
		i, ok := byName.find(s.Name)
		if !ok {
			continue
		}
		if from > old[i].Start { // the order is another one
			if from = pair.Start; i > 0 {
				from = old[i-1].End()
			}
		}
		c.compared(at, s.Start, c.near(pair.base, from, old[i].Start))
		c.compared(s.Start, s.End(), c.near(pair.base, old[i].Start, old[i].End()))
		at, from = s.End(), old[i].End()
	}
	c.compared(at, m.End, c.near(pair.base, from, pair.End))
}

// compared adds a range of the target that is compared with near.
func (c *cutter) compared(start, end int64, near span) {
	c.work(c.position(start), c.position(end), near)
}

func (c *cutter) copied(start, end, from int64) {
	c.add(segment{start: start, end: end, copied: from})
}

// work adds a range that is compared with near, in parts if it is long.
func (c *cutter) work(start, end int64, near span) {
	whole := segment{start: start, end: end, copied: -1, near: near}
	for start < end {
		next := min(end, start+c.effort.piece-c.piece.work)
		part := segment{start: start, end: next, copied: -1, near: whole.nearest(start, next, c.effort)}
		c.add(part)
		start = next
	}
}

// nearest returns the range that is as far into near as [start, end) is into the segment, and more on both sides; near itself if it is short.
func (s segment) nearest(start, end int64, e effort) span {
	size := end - start
	if s.near.size() <= size+e.piece {
		return s.near
	}
	middle := s.near.start + int64(float64(start-s.start)/float64(s.end-s.start)*float64(s.near.size()))
	first := max(s.near.start, min(middle-e.piece/2, s.near.end-size-e.piece))
	return span{first, min(s.near.end, first+size+e.piece)}
}

func (c *cutter) add(s segment) {
	if s.start == s.end {
		return
	}
	c.piece.segments = append(c.piece.segments, s)
	if s.copied < 0 {
		c.piece.work += s.end - s.start
		c.piece.near += s.near.size()
	}
	if c.piece.work >= c.effort.piece || c.piece.near >= 2*c.effort.piece || len(c.piece.segments) >= maxSegments {
		c.flush()
	}
}

func (c *cutter) flush() {
	if len(c.piece.segments) > 0 {
		c.pieces = append(c.pieces, c.piece)
	}
	c.piece = piece{}
}
