package zlib

import (
	"encoding/binary"
	"math/bits"
)

// tooDistant is the distance from which on a match of three bytes is not worth its code. Only
// the levels that try the next position ignore such matches.
const tooDistant = 4096

// longest looks among the candidates, beginning with the given one, for a match at pos that is
// longer than best. It returns the first of the longest matches, or best as length if there
// is none. Lengths end with the input.
func (e *encoder) longest(candidate, best int) (start, length int) {
	window, pos := &e.window, e.pos
	limit := max(pos-maxDistance, 0)
	tries := e.tries
	if best >= e.good {
		tries >>= 2
	}
	nice := e.nice
	if !e.gnu {
		// gzip does not stop here: it compares what the window contained before, and may
		// find a candidate that matches more of it.
		nice = min(nice, e.ahead)
	}
	// A longer match has the same bytes up to the one after best. Four of them are compared
	// first, or three, as the byte before the match may be another one.
	mask := uint32(0xffffffff)
	if best < minMatch {
		mask = 0xffffff00
	}
	end := load32(window, pos+best-3) & mask
	for {
		if load32(window, candidate+best-3)&mask == end {
			if n := common(window, candidate, pos); n > best {
				start, best = candidate, n
				if n >= nice {
					break
				}
				mask = 0xffffffff
				end = load32(window, pos+best-3)
			}
		}
		candidate = int(e.prev[candidate&(windowSize-1)])
		if candidate <= limit {
			break
		}
		tries--
		if tries == 0 {
			break
		}
	}
	return start, min(best, e.ahead)
}

// load32 and load64 read a word of the window. The mask tells the compiler that the position
// is in the window.
func load32(window *[2*windowSize + 8]byte, at int) uint32 {
	return binary.LittleEndian.Uint32(window[at&(2*windowSize-1):])
}

func load64(window *[2*windowSize + 8]byte, at int) uint64 {
	return binary.LittleEndian.Uint64(window[at&(2*windowSize-1):])
}

// common is the number of bytes, at most maxMatch, that are equal from two positions on.
func common(window *[2*windowSize + 8]byte, a, b int) int {
	for n := 0; n < maxMatch; n += 8 {
		if different := load64(window, a+n) ^ load64(window, b+n); different != 0 {
			return min(n+bits.TrailingZeros64(different)/8, maxMatch)
		}
	}
	return maxMatch
}

// compressFast takes the first match that it finds (levels 1 to 3). Without drain it leaves
// minLookahead-1 bytes.
func (e *encoder) compressFast(drain bool) {
	for {
		if e.ahead < minLookahead {
			if !drain {
				return
			}
			e.slide()
			if e.ahead == 0 {
				return
			}
		}
		candidate := 0
		if e.ahead >= e.hashable {
			e.index(e.pos)
			candidate = int(e.prev[e.pos&(windowSize-1)])
		}
		start, length := 0, 0
		if candidate != 0 && e.pos-candidate <= maxDistance && e.pos <= slideAt {
			start, length = e.longest(candidate, minMatch-1)
		}
		if length < minMatch {
			e.block.literal(e.window[e.pos])
			e.pos++
			e.ahead--
			if e.endsAfterSymbol(e.pos - 1) {
				e.writeBlock(false)
			}
			continue
		}
		e.block.match(e.pos-start, length)
		full := e.endsAfterSymbol(e.pos)
		e.ahead -= length
		if length <= e.accepted && e.ahead >= e.hashable {
			for position := e.pos + 1; position < e.pos+length; position++ {
				e.index(position)
			}
		}
		e.pos += length
		if full {
			e.writeBlock(false)
		}
	}
}

// endsAfterSymbol says whether the block ends after the symbol that was added last. Its input
// is counted up to pos.
func (e *encoder) endsAfterSymbol(pos int) bool {
	if e.block.full() {
		return true
	}
	return e.earlyEnd && e.block.n%4096 == 0 && e.block.compressesWell(pos-e.blockStart)
}

// compressLazily accepts a match only if there is no longer one at the next position (levels 4
// to 9). Without drain it leaves minLookahead-1 bytes.
func (e *encoder) compressLazily(drain bool) {
	length := e.previousLength
	start := e.previousStart
	for {
		if e.ahead < minLookahead {
			if !drain {
				break
			}
			e.previousStart = start
			e.slide()
			start = e.previousStart
			if e.ahead == 0 {
				break
			}
		}
		candidate := 0
		if e.ahead >= e.hashable {
			hash := e.hash(e.pos)
			candidate = int(e.head[hash])
			e.prev[e.pos&(windowSize-1)] = uint16(candidate)
			e.head[hash] = uint16(e.pos)
		}
		previousStart, previousLength := start, length
		length = minMatch - 1
		if candidate != 0 && previousLength < e.accepted && e.pos-candidate <= maxDistance && e.pos <= slideAt {
			start, length = e.longest(candidate, previousLength)
			if length == minMatch && e.pos-start > tooDistant {
				length = minMatch - 1
			}
		}
		switch {
		case previousLength >= minMatch && length <= previousLength:
			e.block.match(e.pos-1-previousStart, previousLength)
			full := e.endsAfterSymbol(e.pos)
			e.indexMatch(previousLength)
			e.pending, length = false, minMatch-1
			if full {
				e.writeBlock(false)
			}
		case e.pending:
			e.block.literal(e.window[e.pos-1])
			if e.endsAfterSymbol(e.pos) {
				e.writeBlock(false)
			}
			e.pos++
			e.ahead--
		default:
			e.pending = true
			e.pos++
			e.ahead--
		}
	}
	e.previousStart, e.previousLength = start, length
	if drain && e.pending {
		e.block.literal(e.window[e.pos-1])
		e.pending = false
	}
}

// indexMatch moves behind a match that began at the position before pos. Positions whose
// string would be longer than the input are not indexed.
func (e *encoder) indexMatch(length int) {
	end := e.pos + length - 1
	last := min(end-1, e.pos+e.ahead-e.hashable)
	for position := e.pos + 1; position <= last; position++ {
		e.index(position)
	}
	e.pos = end
	e.ahead -= length - 1
}
