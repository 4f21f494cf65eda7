package zlib

import (
	"cmp"
	"errors"
	"math"
)

const (
	maxStored = 1<<16 - 1 // bytes in a stored block

	// maxStoredCall limits the input that a storer keeps in memory.
	maxStoredCall = 256 << 10

	storedHeader = 5 // the bits of the header take a byte, as the blocks before were aligned
)

// A storer writes what zlib does at level 0: stored blocks. Input goes from the buffer of the
// program to its output buffer if a block of at least 32 KiB fits, and through the window
// otherwise. So the size of the blocks depends on the size of these buffers.
type storer struct {
	to     *bitWriter
	calls  int // bytes of input per call; 0: one call with all input
	output int // bytes of the output buffer per call
	memory int // most bytes of a block that goes through the window

	input   []byte // of the current call
	window  []byte // from the window, not yet in a block
	pos     int    // end of the input in the window
	waiting int    // bytes of output that had no room
	room    int    // in the output buffer
	flushed bool   // nothing was written since
}

// A storeMode is how the program calls zlib.
type storeMode int

const (
	storeMore storeMode = iota
	storeFlush
	storeLast
)

func newStorer(to *bitWriter, o Options) *storer {
	s := &storer{to: to, calls: o.WriteSize, output: o.OutputSize}
	s.output = cmp.Or(s.output, math.MaxInt)
	// zlib has four bytes for each symbol of a block.
	s.memory = min(4*(zlibVariant(o.MemoryLevel).symbols+1)-storedHeader, maxStored)
	return s
}

func (s *storer) reset() {
	s.input, s.window = s.input[:0], s.window[:0]
	s.pos, s.waiting, s.flushed = 0, 0, false
}

func (s *storer) write(data []byte) {
	for len(data) > 0 {
		s.flushed = false
		limit := cmp.Or(s.calls, maxStored)
		if len(s.input) == limit {
			// Only with one call: these bytes are not the last ones.
			writeStored(s.to, s.input, false)
			s.input = s.input[:0]
		}
		n := min(len(data), limit-len(s.input))
		s.input = append(s.input, data[:n]...)
		data = data[n:]
		if s.calls != 0 && len(s.input) == limit {
			s.call(storeMore)
		}
	}
}

func (s *storer) flush() error {
	if s.calls == 0 {
		return errors.New("level 0 without a write size has one call, and no flush before its end")
	}
	if s.flushed {
		return nil
	}
	s.flushed = true
	if len(s.input) > 0 {
		s.call(storeMore)
	}
	s.call(storeFlush)
	return nil
}

func (s *storer) finish() {
	if s.calls == 0 {
		writeStored(s.to, s.input, true)
		return
	}
	if len(s.input) > 0 {
		s.call(storeMore)
	}
	s.call(storeLast)
}

// call gives the input to zlib and repeats that with an empty output buffer as long as the
// buffer was full.
func (s *storer) call(mode storeMode) {
	for done := false; ; {
		s.room = s.output
		n := min(s.waiting, s.room)
		s.waiting -= n
		s.room -= n
		// A flush is repeated, with another empty block, if the output filled the buffer.
		if s.room > 0 && (!done || mode == storeFlush) {
			done = s.step(mode)
		}
		if s.room > 0 && (done || mode != storeLast) {
			break
		}
	}
	s.input = s.input[:0]
}

// emit writes a block of the size given: first what is in the window, then input.
func (s *storer) emit(size int, last bool) {
	held := min(size, len(s.window))
	writeStoredHeader(s.to, size, last)
	s.to.raw(s.window[:held])
	s.to.raw(s.input[:size-held])
	s.window = withoutFirst(s.window, held)
	s.input = withoutFirst(s.input, size-held)
	s.room -= storedHeader + size
}

// withoutFirst moves what follows the first n bytes to the beginning.
func withoutFirst(data []byte, n int) []byte { return data[:copy(data, data[n:])] }

// step is one call. It reports whether the mode has been carried out.
func (s *storer) step(mode storeMode) bool {
	before := len(s.input)
	for s.room >= storedHeader {
		all := len(s.window) + len(s.input)
		size := min(maxStored, all, s.room-storedHeader)
		if size < windowSize && (size == 0 && mode != storeLast || mode == storeMore || size != all) {
			break
		}
		last := mode == storeLast && size == all
		s.emit(size, last)
		if last {
			return true
		}
	}
	s.passed(before - len(s.input))
	if mode == storeFlush && len(s.input) == 0 && len(s.window) == 0 {
		s.put(nil, false)
		return true
	}
	s.fill()
	all := len(s.window)
	if all >= min(s.memory, windowSize) ||
		(all > 0 || mode == storeLast) && mode != storeMore && len(s.input) == 0 && all <= s.memory {
		size := min(all, s.memory)
		last := mode == storeLast && len(s.input) == 0 && size == all
		s.put(s.window[:size], last)
		s.window = withoutFirst(s.window, size)
		return last
	}
	return false
}

// put writes a block through zlib's own buffer.
func (s *storer) put(block []byte, last bool) {
	writeStored(s.to, block, last)
	size := storedHeader + len(block)
	n := min(size, s.room)
	s.room -= n
	s.waiting += size - n
}

// passed accounts for input that went past the window. It is copied there as a dictionary.
func (s *storer) passed(size int) {
	switch {
	case size == 0:
		return
	case size >= windowSize:
		s.pos = windowSize
		return
	case 2*windowSize-s.pos <= size:
		s.pos -= windowSize
	}
	s.pos += size
}

// fill copies input into the window, which moves to make room for it.
func (s *storer) fill() {
	free := 2*windowSize - s.pos
	if len(s.input) > free && s.pos-len(s.window) >= windowSize {
		s.pos -= windowSize
		free += windowSize
	}
	n := min(free, len(s.input))
	s.window = append(s.window, s.input[:n]...)
	s.input = withoutFirst(s.input, n)
	s.pos += n
}
