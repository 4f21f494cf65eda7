package zlib

// A block collects literals and matches until it is written.
type block struct {
	*tables
	symbols []uint32 // distance<<8 | literal, or distance<<8 | length less minMatch
	n       int      // number of symbols

	literals  prefixCode // also lengths and the end of the block
	distances prefixCode
	code      prefixCode // for the lengths of the other two
	tokens    []lengthToken
	builder   treeBuilder
}

// newBlock returns a block that is full after capacity symbols.
func newBlock(capacity int) *block {
	return &block{
		tables:    newTables(),
		symbols:   make([]uint32, capacity),
		literals:  newPrefixCode(literalSymbols, maxCodeLength),
		distances: newPrefixCode(distanceSymbols, maxCodeLength),
		code:      newPrefixCode(lengthSymbols, maxLengthCode),
		tokens:    make([]lengthToken, 0, literalSymbols+distanceSymbols),
	}
}

func (b *block) literal(value byte) {
	b.symbols[b.n] = uint32(value)
	b.n++
	b.literals.counts[value]++
}

func (b *block) match(distance, length int) {
	b.symbols[b.n] = uint32(distance)<<8 | uint32(length-minMatch)
	b.n++
	b.literals.counts[firstLength+int(b.lengthSymbol[uint8(length-minMatch)])]++
	b.distances.counts[b.distanceSymbol(uint32(distance-1))]++
}

func (b *block) full() bool { return b.n == len(b.symbols) }

// compressesWell guesses, as gzip does after each 4096 symbols, whether the block should end
// here because the input so far became less than half as large. Matches are counted with
// their distances only.
func (b *block) compressesWell(input int) bool {
	size, matches := 8*b.n, 0
	for symbol, count := range b.distances.counts {
		matches += int(count)
		size += int(count) * (5 + int(b.tables.distances[symbol].extra))
	}
	return matches < b.n/2 && size/8 < input/2
}

// write writes the block in the shortest of the three forms and starts a new one. The input
// is what the block encodes, or nil if it is no longer known.
func (b *block) write(to *bitWriter, input []byte, last bool) {
	b.literals.counts[endOfBlock] = 1
	b.literals.build(&b.builder)
	b.distances.build(&b.builder)
	b.tokens = appendLengths(b.tokens[:0], b.literals.lengths[:b.literals.lastUsed+1])
	b.tokens = appendLengths(b.tokens, b.distances.lengths[:b.distances.lastUsed+1])
	for _, token := range b.tokens {
		b.code.counts[token.symbol]++
	}
	b.code.build(&b.builder)

	dynamic, fixed := b.sizes()
	best := min(dynamic, fixed)
	header := uint32(0)
	if last {
		header = 1
	}
	switch {
	case input != nil && len(input)+4 <= best:
		writeStored(to, input, last)
	case fixed == best:
		to.put(header|1<<1, 3)
		b.writeSymbols(to, b.fixedLiterals[:], b.fixedDistances[:])
	default:
		to.put(header|2<<1, 3)
		b.writeCodes(to)
		b.writeSymbols(to, b.literals.codes, b.distances.codes)
	}
	if last {
		to.align()
	}
	b.reset()
}

// reset discards the symbols.
func (b *block) reset() {
	clear(b.literals.counts)
	clear(b.distances.counts)
	clear(b.code.counts)
	b.n = 0
}

// sizes returns how many bytes the block needs with its own codes and with the fixed ones,
// rounded up.
func (b *block) sizes() (dynamic, fixed int) {
	dynamic = 3 + 5 + 5 + 4 + 3*b.sentLengths() - b.literals.added - b.distances.added - b.code.added
	fixed = 3 - 5*b.distances.added
	for symbol, count := range b.literals.counts {
		extra := 0
		if symbol >= firstLength {
			extra = int(b.lengths[symbol-firstLength].extra)
		}
		dynamic += int(count) * (int(b.literals.lengths[symbol]) + extra)
		fixed += int(count) * (int(b.fixedLiterals[symbol].length) + extra)
	}
	for symbol, count := range b.distances.counts {
		extra := int(b.tables.distances[symbol].extra)
		dynamic += int(count) * (int(b.distances.lengths[symbol]) + extra)
		fixed += int(count) * (5 + extra)
	}
	for symbol, count := range b.code.counts {
		dynamic += int(count) * int(b.code.lengths[symbol])
	}
	for _, token := range b.tokens {
		dynamic += int(token.extra)
	}
	return (dynamic + 7) / 8, (fixed + 7) / 8
}

// sentLengths is how many lengths of codes for code lengths are written, at least 4.
func (b *block) sentLengths() int {
	n := lengthSymbols
	for n > 4 && b.code.lengths[lengthOrder[n-1]] == 0 {
		n--
	}
	return n
}

func (b *block) writeCodes(to *bitWriter) {
	n := b.sentLengths()
	to.put(uint32(b.literals.lastUsed+1-firstLength), 5)
	to.put(uint32(b.distances.lastUsed), 5)
	to.put(uint32(n-4), 4)
	for _, symbol := range lengthOrder[:n] {
		to.put(uint32(b.code.lengths[symbol]), 3)
	}
	for _, token := range b.tokens {
		to.putCode(b.code.codes[token.symbol])
		to.put(uint32(token.value), uint(token.extra))
	}
}

func (b *bitWriter) putCode(c code) { b.put(uint32(c.bits), uint(c.length)) }

func (b *block) writeSymbols(to *bitWriter, literals, distances []code) {
	for _, symbol := range b.symbols[:b.n] {
		distance, value := symbol>>8, symbol&0xff
		if distance == 0 {
			to.putCode(literals[value])
			continue
		}
		index := b.lengthSymbol[value]
		length := b.lengths[index]
		c := literals[firstLength+int(index)]
		to.put(uint32(c.bits)|(value-uint32(length.first))<<c.length, uint(c.length+length.extra))

		index = b.distanceSymbol(distance - 1)
		place := b.tables.distances[index]
		c = distances[index]
		to.put(uint32(c.bits)|(distance-1-uint32(place.first))<<c.length, uint(c.length+place.extra))
	}
	to.putCode(literals[endOfBlock])
}

// writeStored writes a block of at most 65535 uncompressed bytes.
func writeStored(to *bitWriter, input []byte, last bool) {
	writeStoredHeader(to, len(input), last)
	to.raw(input)
}

func writeStoredHeader(to *bitWriter, size int, last bool) {
	header := uint32(0)
	if last {
		header = 1
	}
	to.put(header, 3)
	to.align()
	short := uint16(size)
	to.put(uint32(short)|uint32(^short)<<16, 32)
}
