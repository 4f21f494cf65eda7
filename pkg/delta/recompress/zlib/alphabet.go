package zlib

import "math/bits"

// The alphabets of RFC 1951, section 3.2.5: a literal byte, the end of a block, or a match of
// a length and a distance. Lengths and distances have a symbol for a range and extra bits for
// the place in it.
const (
	endOfBlock      = 256
	firstLength     = 257
	literalSymbols  = 286
	distanceSymbols = 30
	lengthSymbols   = 19 // of the alphabet in which code lengths are written
	maxCodeLength   = 15
	maxLengthCode   = 7 // longest code of that alphabet

	minMatch = 3
	maxMatch = 258
)

// A symbolRange says which values a length or distance symbol stands for.
type symbolRange struct {
	first uint16 // lowest value: a length less minMatch, or a distance less one
	extra uint8  // bits that select a value
}

// tables are calculated from RFC 1951's rules. They do not change, and writers share them.
type tables struct {
	lengths   [literalSymbols - firstLength]symbolRange
	distances [distanceSymbols]symbolRange

	lengthSymbol  [maxMatch - minMatch + 1]uint8 // length less minMatch: symbol less firstLength
	nearSymbol    [256]uint8                     // distance less one, if below 256
	distantSymbol [256]uint8                     // (distance less one) / 128, if above

	fixedLiterals  [literalSymbols + 2]code
	fixedDistances [distanceSymbols]code
}

func newTables() *tables {
	t := &tables{}
	// Eight symbols of one value each, then four symbols per number of extra bits. Length 258
	// has a symbol of its own, although the range before would contain it.
	fillRanges(t.lengths[:len(t.lengths)-1], 8, 4)
	for i, r := range t.lengths[:len(t.lengths)-1] {
		for n := range 1 << r.extra {
			t.lengthSymbol[int(r.first)+n] = uint8(i)
		}
	}
	last := len(t.lengths) - 1
	t.lengths[last] = symbolRange{first: maxMatch - minMatch}
	t.lengthSymbol[maxMatch-minMatch] = uint8(last)

	fillRanges(t.distances[:], 4, 2)
	for i, r := range t.distances {
		for n := range 1 << r.extra {
			if value := int(r.first) + n; value < len(t.nearSymbol) {
				t.nearSymbol[value] = uint8(i)
			} else {
				t.distantSymbol[value>>7] = uint8(i)
			}
		}
	}
	t.fixedCodes()
	return t
}

// fillRanges gives each symbol the values after those of the symbol before it: the first
// plain symbols have no extra bits, and then each group of symbols has one bit more.
func fillRanges(ranges []symbolRange, plain, group int) {
	next := uint16(0)
	for i := range ranges {
		if i >= plain {
			ranges[i].extra = uint8((i-plain)/group + 1)
		}
		ranges[i].first = next
		next += 1 << ranges[i].extra
	}
}

// fixedCodes sets the codes of RFC 1951, section 3.2.6. The two literal symbols that are never
// used are part of that code.
func (t *tables) fixedCodes() {
	lengths := make([]uint8, len(t.fixedLiterals))
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		default:
			lengths[i] = 8
		}
	}
	assignCodes(t.fixedLiterals[:], lengths)
	for i := range t.fixedDistances {
		t.fixedDistances[i] = code{bits: bits.Reverse16(uint16(i)) >> 11, length: 5}
	}
}

// distanceSymbol returns the symbol of a distance less one.
func (t *tables) distanceSymbol(value uint32) uint8 {
	if value < 256 {
		return t.nearSymbol[value&255]
	}
	return t.distantSymbol[(value>>7)&255]
}
