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
func cut(target *Members, p *pairs, s *MemberStats, e effort) []piece {
	c := cutter{effort: e}
	for _, m := range target.Files {
		pair := p.find(m, s)
		switch {
		case pair.ok && pair.same && m.Size > 0:
			c.work(m.Start, m.Offset, span{pair.start, pair.offset})
			c.copied(m.Offset, m.Offset+m.Size, pair.offset)
			c.work(m.Offset+m.Size, m.End, span{pair.offset + m.Size, pair.end})
		case pair.ok:
			c.work(m.Start, m.End, span{pair.start, pair.end})
		default:
			c.work(m.Start, m.End, span{})
		}
	}
	c.flush()
	return c.pieces
}

type cutter struct {
	effort effort
	piece  piece // not complete
	pieces []piece
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
