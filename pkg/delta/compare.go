package delta

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"time"
)

// result is a piece of the target as operations.
type result struct {
	operations []operation
	changes    []change
	inserted   []byte
	end        int64 // of the piece in the target
	matched    int64
	changed    int64 // bytes that differ
	spent      time.Duration
}

// comparer turns pieces into results. A worker has one of its own.
type comparer struct {
	effort  effort
	target  io.ReaderAt
	bases   *addresses
	anchors *anchors
	buffer  []byte
	window  window
	matcher matcher
}

// begin prepares the comparison of contents, in the memory of the one before.
func (c *comparer) begin(target io.ReaderAt, bases *addresses, a *anchors, e effort) {
	c.effort, c.target, c.bases, c.anchors, c.matcher.effort = e, target, bases, a, e
}

// compare returns the operations for a piece, in the memory of r.
func (c *comparer) compare(p piece, r *result) error {
	c.buffer = room(c.buffer, int(p.work), int(c.effort.piece))[:0]
	for _, s := range p.segments {
		if s.copied < 0 {
			n := len(c.buffer)
			c.buffer = c.buffer[:n+int(s.end-s.start)]
			if err := readAt(c.target, c.buffer[n:], s.start); err != nil {
				return fmt.Errorf("reading the target: %w", err)
			}
		}
	}
	if err := c.window.load(c.bases, choose(p, c.buffer, c.anchors, c.effort, c.bases.end()), c.effort.window); err != nil {
		return err
	}
	c.matcher.use(&c.window)
	*r = result{operations: r.operations[:0], changes: r.changes[:0], inserted: r.inserted[:0], end: p.end()}
	rest := c.buffer
	for _, s := range p.segments {
		if s.copied >= 0 {
			r.copy(s.copied, s.end-s.start, false)
			continue
		}
		t := rest[:s.end-s.start]
		rest = rest[len(t):]
		near := -1
		if s.near.size() > 0 {
			near = c.window.position(s.near.start)
		}
		c.add(r, s.start, t, c.matcher.match(t, near))
	}
	return nil
}

func (r *result) copy(from, n int64, short bool) {
	r.operations = append(r.operations, operation{from: from, copied: n, short: short})
	r.matched += n
}

func (r *result) insert(b []byte) {
	if len(b) == 0 {
		return
	}
	if len(r.operations) == 0 {
		r.operations = append(r.operations, operation{})
	}
	r.operations[len(r.operations)-1].inserted += int64(len(b))
	r.inserted = append(r.inserted, b...)
}

// add appends t, which begins at start in the target, as runs and what is between them.
func (c *comparer) add(r *result, start int64, t []byte, runs []run) {
	at := 0
	for _, run := range runs {
		r.insert(t[at:run.target])
		at = run.target + run.length
		from := c.window.address(run.window)
		short := r.differ(start+int64(run.target), t[run.target:at], from, c.window.content[run.window:run.window+run.length])
		r.copy(from, int64(run.length), short)
	}
	r.insert(t[at:])
}

// differ adds the words of t that differ from those of b, and reports whether the last one has fewer than four bytes. t begins at start in the target, and b
// at the address from.
func (r *result) differ(start int64, t []byte, from int64, b []byte) (short bool) {
	for i := 0; i < len(t); {
		i += common(t[i:], b[i:])
		if i >= len(t) {
			break
		}
		c := change{copied: r.matched + int64(i), from: uint32(from + int64(i)), at: uint32(start + int64(i)), mask: wordMask(len(t) - i)}
		c.target, c.base = word(t[i:]), word(b[i:])
		for x := c.target ^ c.base; x != 0; x >>= 8 {
			if x&0xff != 0 {
				r.changed++
			}
		}
		r.changes = append(more(r.changes), c)
		i += c.width()
		short = c.mask != math.MaxUint32
	}
	return short
}

// more returns s with room for another element. Memory for many changes grows in few large steps: append would leave four times as much behind.
func more(s []change) []change {
	if len(s) < cap(s) {
		return s
	}
	return append(make([]change, 0, max(2*cap(s), 1<<12)), s...)
}

// word returns the first four bytes, or as many as there are, as a little-endian number.
func word(b []byte) uint32 {
	if len(b) >= 4 {
		return binary.LittleEndian.Uint32(b)
	}
	v := uint32(0)
	for i, c := range b {
		v |= uint32(c) << (8 * i)
	}
	return v
}

// wordMask returns the mask of a word, if n bytes are left.
func wordMask(n int) uint32 {
	if n >= 4 {
		return math.MaxUint32
	}
	return 1<<(8*n) - 1
}

func (c change) width() int { return bits.Len32(c.mask) / 8 }
