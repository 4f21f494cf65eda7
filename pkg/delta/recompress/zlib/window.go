package zlib

const (
	windowSize   = 32 << 10
	minLookahead = maxMatch + minMatch + 1 // enough for a match and the string after it
	maxDistance  = windowSize - minLookahead

	// A position at which the upper half of the window moves to the lower half.
	slideAt = windowSize + maxDistance
)

// An encoder compresses one deflate stream. It reproduces where zlib refills and moves its
// window, because that decides which matches and stored blocks are possible.
//
// The window has two halves of 32 KiB. Position 0 ends a chain of candidates, so no match
// starts there.
type encoder struct {
	search
	variant
	to    *bitWriter
	block *block

	window [2*windowSize + 8]byte // eight bytes more, so that words can be read at its end
	head   []uint16               // hash of three bytes: latest position
	prev   [windowSize]uint16     // position modulo windowSize: earlier position with the same hash
	shift  uint                   // the hash is shifted by this for each byte
	mask   uint32

	pos        int // of the string that is compressed next
	ahead      int // number of bytes from pos on
	blockStart int // position of the first byte of the block; negative if it left the window
	unindexed  int // number of positions before pos that could not be hashed when input ended

	// The match at the position before, in levels that try the next position.
	previousStart, previousLength int
	pending                       bool // the byte before pos is not in the block yet

	calls  int // bytes of input per call of the original program; 0: no limit
	call   int // bytes left in the call; -1: no limit
	wanted int // bytes that the program would copy into the window now
	got    int // bytes of these that are in the window
	ended  bool
}

// A variant is what differs between zlib and gzip.
type variant struct {
	symbols  int  // number of symbols in a block
	hashBits int  // size of the hash
	gnu      bool // gzip, which compares bytes after its input, and its window does not move after the end
	earlyEnd bool // blocks that compress well end early: gzip, from level 3 on
	hashable int  // bytes that must be ahead of a position so that it is hashed
}

func newEncoder(to *bitWriter, s search, v variant, calls int) *encoder {
	e := &encoder{
		search: s, variant: v, to: to, block: newBlock(v.symbols), calls: calls,
		head:  make([]uint16, 1<<v.hashBits),
		shift: uint(v.hashBits+minMatch-1) / minMatch,
		mask:  1<<v.hashBits - 1,
	}
	e.reset()
	return e
}

// reset starts a new stream.
func (e *encoder) reset() {
	clear(e.head)
	e.block.reset()
	if e.gnu {
		clear(e.window[:]) // see longest
	}
	e.ended = false
	e.pos, e.ahead, e.blockStart, e.unindexed = 0, 0, 0, 0
	e.previousStart, e.previousLength, e.pending = 0, minMatch-1, false
	e.newCall()
	e.want()
}

// newCall is called where the original program hands over more input.
func (e *encoder) newCall() {
	e.call = e.calls
	if e.calls == 0 {
		e.call = -1
	}
}

// want moves the window if necessary and decides how much input is copied into it next.
func (e *encoder) want() {
	e.slide()
	if e.call == 0 {
		e.newCall()
	}
	e.got, e.wanted = 0, 2*windowSize-e.pos-e.ahead
	if e.call >= 0 {
		e.wanted = min(e.wanted, e.call)
	}
}

// write compresses data.
func (e *encoder) write(data []byte) {
	for len(data) > 0 {
		at := e.pos + e.ahead + e.got
		n := copy(e.window[at:at+e.wanted-e.got], data)
		e.got += n
		data = data[n:]
		if e.got < e.wanted {
			return
		}
		e.arrived()
		if e.ahead >= minLookahead {
			e.compress(false)
		}
		e.want()
	}
}

// arrived accounts for input that was copied into the window.
func (e *encoder) arrived() {
	e.ahead += e.got
	if e.call > 0 {
		e.call -= e.got
	}
	e.got, e.wanted = 0, 0
	for e.unindexed > 0 && e.ahead+e.unindexed >= minMatch {
		e.index(e.pos - e.unindexed)
		e.unindexed--
	}
}

// drain compresses all input, and writes the block. Without last, an empty block is not
// written.
func (e *encoder) drain(last bool) {
	e.arrived()
	if e.gnu {
		// gzip notices the end of its input when it refills the window the next time, and clears
		// the two bytes that can be hashed after it.
		if e.ahead >= minLookahead {
			e.compress(false)
		}
		e.slide()
		e.ended = true
		clear(e.window[e.pos+e.ahead:][:minMatch-1])
	}
	e.compress(true)
	if last || e.block.n > 0 {
		e.writeBlock(last)
	}
	e.newCall()
	e.want()
}

func (e *encoder) compress(drain bool) {
	if e.lazy {
		e.compressLazily(drain)
	} else {
		e.compressFast(drain)
	}
	if drain {
		e.unindexed = min(e.pos, minMatch-1)
	}
}

// writeBlock writes the block, which ends before pos.
func (e *encoder) writeBlock(last bool) {
	var input []byte
	if e.blockStart >= 0 {
		input = e.window[e.blockStart:e.pos]
	}
	e.block.write(e.to, input, last)
	e.blockStart = e.pos
}

// slide moves the upper half of the window to the lower half if pos is near the end. Positions
// in the lower half are too far away for matches then.
func (e *encoder) slide() {
	if e.pos < slideAt || e.ended {
		return
	}
	copy(e.window[:windowSize], e.window[windowSize:])
	e.pos -= windowSize
	e.blockStart -= windowSize
	e.previousStart -= windowSize
	e.unindexed = min(e.unindexed, e.pos)
	lower(e.head)
	lower(e.prev[:])
}

func lower(positions []uint16) {
	for i, position := range positions {
		positions[i] = max(position, windowSize) - windowSize
	}
}

// dictionary puts text before the stream, to which matches can refer. It has at most
// windowSize bytes, and the stream is empty.
func (e *encoder) dictionary(text []byte) {
	copy(e.window[:], text)
	for position := range max(0, len(text)-minMatch+1) {
		e.index(position)
	}
	e.pos, e.blockStart = len(text), len(text)
	e.unindexed = min(len(text), minMatch-1)
	e.want()
}

// index makes a position a candidate for matches.
func (e *encoder) index(position int) {
	hash := e.hash(position)
	e.prev[position&(windowSize-1)] = e.head[hash]
	e.head[hash] = uint16(position)
}

func (e *encoder) hash(position int) uint32 {
	return ((uint32(e.window[position])<<e.shift^uint32(e.window[position+1]))<<e.shift ^ uint32(e.window[position+2])) & e.mask
}
