package delta

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

const seed = 8 // bytes of an exact match from which an approximate match grows

// weights decide what is a match. They depend on the content.
type weights struct {
	margin   int // by how many bytes a new alignment must be better than the current one
	mismatch int // how many bytes that agree are worth as much as one that differs
}

var (
	programWeights = weights{margin: 8, mismatch: 1}
	// In text, many short matches cost more than an insertion: zstd knows the inserted bytes before it, and texts repeat themselves.
	textWeights = weights{margin: 32, mismatch: 2}
)

// weigh returns the weights for t. A program contains many zeros.
func weigh(t []byte) weights {
	if bytes.Count(t, []byte{0}) < len(t)/zeroShare {
		return textWeights
	}
	return programWeights
}

const zeroShare = 32

// run says that bytes of the target are like bytes of the window, though some may differ.
type run struct {
	target, window, length int
}

// matcher finds runs. Its tables are used again for the next piece.
type matcher struct {
	effort effort
	window *window
	head   []uint32 // by hash: the last position in the window with that hash, plus 1
	prev   []uint32 // by indexed position: the one before it with the same hash, plus 1
	shift  uint
	runs   []run
	weights
	ready bool // the tables are of this window
}

// use prepares matches in a window.
func (m *matcher) use(w *window) { m.window, m.ready = w, false }

// index fills the tables. Many pieces do not need them.
func (m *matcher) index() {
	m.ready = true
	w := m.window
	n := len(w.content)/m.effort.step + 1
	size := bits.Len(uint(max(n, 1<<10))) - 1
	m.shift = uint(64 - size)
	most := int(m.effort.window+granule)/m.effort.step + 1
	m.head, m.prev = room(m.head, 1<<size, 1<<(bits.Len(uint(most))-1)), room(m.prev, n, most)
	clear(m.head)
	last := uint64(0)
	for i := 0; i+seed <= len(w.content); i += m.effort.step {
		x := binary.LittleEndian.Uint64(w.content[i:])
		m.prev[i/m.effort.step] = 0
		if x == last && i > 0 {
			continue // within a run of equal bytes, the first position is enough
		}
		last = x
		h := x * prime >> m.shift
		m.prev[i/m.effort.step] = m.head[h]
		m.head[h] = uint32(i/m.effort.step + 1)
	}
}

// room returns a slice of n elements, in the same memory if that is large enough. If much is needed, it has room for the most that can be, so that memory
// does not grow step by step.
func room[T any](s []T, n, most int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	if n > most/4 && n <= most {
		return make([]T, n, most)
	}
	return make([]T, n)
}

// longest returns the position in the window with the longest exact match for the start of t, at least seed bytes; the length is 0 if there is none.
func (m *matcher) longest(t []byte) (at, length int) {
	if !m.ready {
		m.index()
	}
	x := binary.LittleEndian.Uint64(t)
	next := m.head[x*prime>>m.shift]
	for tries := m.effort.tries; next != 0 && tries > 0; tries-- {
		candidate := int(next-1) * m.effort.step
		next = m.prev[next-1]
		if binary.LittleEndian.Uint64(m.window.content[candidate:]) != x {
			continue
		}
		_, end := m.window.limits(candidate)
		if candidate+length >= end || length > 0 && (length >= len(t) || m.window.content[candidate+length] != t[length]) {
			continue
		}
		if n := common(t, m.window.content[candidate:end]); n > length && n >= seed {
			at, length = candidate, n
		}
	}
	return at, length
}

// common returns how many bytes at the start of a and b are the same.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// equal counts the positions at which a and b have the same byte.
func equal(a, b []byte) int {
	n := 0
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}

// alignment is a part of the target that is compared with a part of the window: target position plus shift is the window position.
type alignment struct {
	start      int // in the target
	shift      int
	low, limit int // of the range in the window
	ok         bool
}

// match returns the runs of t in order. The bytes of near, a position in the window or -1, are compared with the start of t first.
func (m *matcher) match(t []byte, near int) []run {
	m.runs = m.runs[:0]
	w := m.window.content
	if len(w) == 0 {
		return nil
	}
	m.weights = weigh(t)
	var now alignment
	if near >= 0 {
		low, limit := m.window.limits(near)
		now = alignment{start: 0, shift: near, low: low, limit: limit, ok: true}
	}
	for i := 0; i+seed <= len(t); {
		if now.ok && now.shift+i < now.limit {
			if n := m.ahead(t[i:], w[now.shift+i:now.limit]); n > 0 {
				i += n
				continue
			}
		}
		at, length := m.longest(t[i:])
		if length == 0 {
			i++
			continue
		}
		score := 0
		if now.ok && now.shift+i < now.limit {
			score = equal(t[i:i+length], w[now.shift+i:now.limit])
		}
		if length <= score+m.margin || !m.pays(t[i:], at, length, score, now.ok && closeTo(now.shift, at-i)) {
			i += max(1, length-2*seed)
			continue
		}
		low, limit := m.window.limits(at)
		next := alignment{start: i, shift: at - i, low: low, limit: limit, ok: true}
		m.finish(t, now, &next)
		now = next
		i += length
	}
	m.finish(t, now, nil)
	return m.runs
}

const (
	// closeShift is how far an alignment may be from the one before so that its address costs little: an insertion is between them.
	closeShift = 1024
	// farMargin is the margin for others. Their addresses cost as much as about so many inserted bytes.
	farMargin = 24
	// promising is how many bytes show whether an alignment is worth its address.
	promising = 128
)

// closeTo reports whether a shift is close to another one.
func closeTo(a, b int) bool { return max(a-b, b-a) <= closeShift }

// pays reports whether an alignment with the window at a position, where length bytes of t are the same, saves more than its address costs. score is how
// many of these bytes are the same in the current alignment.
func (m *matcher) pays(t []byte, at, length, score int, cheap bool) bool {
	if cheap || length >= score+farMargin {
		return true
	}
	_, end := m.window.limits(at)
	w := m.window.content[at:end]
	n := min(len(t), len(w), promising)
	for i, sum := 0, 0; i < n; i++ {
		if t[i] == w[i] {
			sum++
		} else {
			sum -= m.mismatch
		}
		if sum >= score+farMargin {
			return true
		}
	}
	return false
}

// ahead returns how many bytes to go on with the current alignment: those that are the same, and a few that differ if many follow that are the same.
// It returns 0 if another alignment may be better.
func (m *matcher) ahead(a, b []byte) int {
	if n := common(a, b); n >= seed {
		return n
	}
	for skip := 1; skip <= m.effort.skip && skip+2*seed <= min(len(a), len(b)); skip++ {
		if binary.LittleEndian.Uint64(a[skip:]) == binary.LittleEndian.Uint64(b[skip:]) && common(a[skip:], b[skip:]) >= 2*seed {
			return skip
		}
	}
	return 0
}

// finish adds the run of an alignment: it extends it forward, and the next one backward, while more bytes agree than differ.
func (m *matcher) finish(t []byte, now alignment, next *alignment) {
	w := m.window.content
	end, from := len(t), 0
	if next != nil {
		end = next.start
	}
	forward := 0
	if now.ok {
		from = now.start
		score, best := 0, 0
		for i := now.start; i < end && now.shift+i < now.limit; i++ {
			if t[i] == w[now.shift+i] {
				score++
			} else {
				score -= m.mismatch
			}
			if score > best {
				best, forward = score, i+1-now.start
			}
		}
	}
	if next != nil {
		score, best, back := 0, 0, 0
		for i := end - 1; i >= from && next.shift+i >= next.low; i-- {
			if t[i] == w[next.shift+i] {
				score++
			} else {
				score -= m.mismatch
			}
			if score > best {
				best, back = score, end-i
			}
		}
		next.start = end - back
		if overlap := from + forward - next.start; overlap > 0 {
			split := m.split(t, now, *next, overlap)
			forward -= overlap - split
			next.start += split
		}
	}
	if forward > 0 {
		m.runs = append(m.runs, run{target: now.start, window: now.start + now.shift, length: forward})
	}
}

// split returns how many of the bytes that both alignments claim, from next.start on, the first one gets.
func (m *matcher) split(t []byte, now, next alignment, overlap int) int {
	w := m.window.content
	score, best, split := 0, 0, 0
	for i := range overlap {
		at := next.start + i
		if t[at] == w[now.shift+at] {
			score++
		}
		if t[at] == w[next.shift+at] {
			score--
		}
		if score > best {
			best, split = score, i+1
		}
	}
	return split
}
