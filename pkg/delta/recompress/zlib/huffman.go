package zlib

import "math/bits"

// A code is a Huffman code as it is written: its first bit is the lowest.
type code struct {
	bits   uint16
	length uint8
}

// A prefixCode is a Huffman code for the frequencies of one block. Programs with the same
// frequencies differ in the codes that they choose among equally good ones. The rules here are
// those of zlib, which gzip shares:
//
//   - The two lightest trees are joined until one is left. They come from a binary heap which
//     is filled in the order of the symbols. Among trees of equal weight the lower one counts
//     as lighter, and among equally low ones the place in the heap decides.
//   - Codes above the limit are shortened to it. For each two of them, a code of the longest
//     length below the limit becomes one bit longer and gets a neighbor. Then lengths are dealt
//     out again, the longest to the symbols that were joined first.
//   - A code has at least two symbols. Symbols 0 and 1 are added if it has fewer.
type prefixCode struct {
	limit    int // longest code
	counts   []uint16
	lengths  []uint8
	codes    []code
	lastUsed int // highest symbol that has a code
	added    int // how many symbols have a code although they do not occur
}

func newPrefixCode(symbols, limit int) prefixCode {
	return prefixCode{
		limit:   limit,
		counts:  make([]uint16, symbols),
		lengths: make([]uint8, symbols),
		codes:   make([]code, symbols),
	}
}

// A treeBuilder has the memory that building a prefixCode needs.
type treeBuilder struct {
	heap   [literalSymbols + 1]heapTree // heap[0] is not used
	size   int
	parent [2 * literalSymbols]uint16
	depth  [2 * literalSymbols]uint8
	order  [2 * literalSymbols]uint16 // nodes as they left the heap
}

// A heapTree is a node and what it is compared by: the weight, then the height of its tree.
type heapTree struct {
	key  uint32 // weight<<8 | height
	node uint16
}

func treeKey(weight uint32, height uint8) uint32 { return weight<<8 | uint32(height) }

// build sets lengths and codes from the counts.
func (c *prefixCode) build(b *treeBuilder) {
	c.lastUsed, c.added = -1, 0
	b.size = 0
	for symbol, count := range c.counts {
		c.lengths[symbol] = 0
		if count != 0 {
			b.size++
			b.heap[b.size] = heapTree{key: treeKey(uint32(count), 0), node: uint16(symbol)}
			c.lastUsed = symbol
		}
	}
	for b.size < 2 {
		symbol := 0
		if c.lastUsed < 2 {
			c.lastUsed++
			symbol = c.lastUsed
		}
		c.counts[symbol] = 1
		c.added++
		b.size++
		b.heap[b.size] = heapTree{key: treeKey(1, 0), node: uint16(symbol)}
	}
	c.setLengths(b, b.join(uint16(len(c.counts))))
	assignCodes(c.codes, c.lengths)
}

// join joins the trees in the heap to one tree. New nodes get numbers from next on. It returns
// how many nodes there are in b.order, the root last.
func (b *treeBuilder) join(next uint16) int {
	for i := b.size / 2; i >= 1; i-- {
		b.sink(i)
	}
	n := 0
	for b.size >= 2 {
		least := b.heap[1]
		b.heap[1] = b.heap[b.size]
		b.size--
		b.sink(1)
		second := b.heap[1]
		b.order[n], b.order[n+1] = least.node, second.node
		n += 2
		b.parent[least.node], b.parent[second.node] = next, next
		height := max(uint8(least.key), uint8(second.key)) + 1
		b.heap[1] = heapTree{key: treeKey(least.key>>8+second.key>>8, height), node: next}
		next++
		b.sink(1)
	}
	b.order[n] = b.heap[1].node
	return n + 1
}

// sink moves the tree at place i down until no tree below it is lighter.
func (b *treeBuilder) sink(i int) {
	moved := b.heap[i]
	for {
		child := 2 * i
		if child > b.size {
			break
		}
		if child < b.size && b.heap[child+1].key <= b.heap[child].key {
			child++
		}
		if moved.key <= b.heap[child].key {
			break
		}
		b.heap[i] = b.heap[child]
		i = child
	}
	b.heap[i] = moved
}

// setLengths sets the length of each code to the depth of its symbol among the first n nodes of
// b.order.
func (c *prefixCode) setLengths(b *treeBuilder, n int) {
	var perLength [maxCodeLength + 1]int
	tooLong := 0
	b.depth[b.order[n-1]] = 0
	for i := n - 2; i >= 0; i-- {
		node := b.order[i]
		depth := int(b.depth[b.parent[node]]) + 1
		if depth > c.limit {
			depth = c.limit
			tooLong++
		}
		b.depth[node] = uint8(depth)
		if int(node) < len(c.counts) {
			c.lengths[node] = uint8(depth)
			perLength[depth]++
		}
	}
	if tooLong == 0 {
		return
	}
	for ; tooLong > 0; tooLong -= 2 {
		length := c.limit - 1
		for perLength[length] == 0 {
			length--
		}
		perLength[length]--
		perLength[length+1] += 2
		perLength[c.limit]--
	}
	length := c.limit
	for _, node := range b.order[:n] {
		if int(node) >= len(c.counts) {
			continue
		}
		for perLength[length] == 0 {
			length--
		}
		perLength[length]--
		c.lengths[node] = uint8(length)
	}
}

// assignCodes numbers the codes of each length as RFC 1951, section 3.2.2 says.
func assignCodes(codes []code, lengths []uint8) {
	var perLength, next [maxCodeLength + 2]uint16
	for _, length := range lengths {
		perLength[length]++
	}
	perLength[0] = 0
	for length := 1; length <= maxCodeLength; length++ {
		next[length+1] = (next[length] + perLength[length]) << 1
	}
	for symbol, length := range lengths {
		if length == 0 {
			codes[symbol] = code{}
			continue
		}
		codes[symbol] = code{bits: bits.Reverse16(next[length]) >> (16 - length), length: length}
		next[length]++
	}
}
