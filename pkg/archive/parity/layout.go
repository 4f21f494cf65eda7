// Package parity computes files from which lost or damaged files of a set are rebuilt.
//
// The files to protect are data shards. Parity files are computed from them with a Reed-Solomon code
// over GF(2^8): any of the shards, as many as there are parity files, can be rebuilt from the others.
// Shards are protected in blocks: a block can be rebuilt if, at its position, at most as many shards are
// damaged as there are parity files. Damaged sectors of many files are therefore rebuilt as long as they
// are at different positions.
//
// A parity file has a head, the parity of all shards, and the head again. The head has a checksum of
// every block of every data shard, and of the blocks of this file, so that damage is found before
// anything is computed from it. One intact copy of the head of a parity file is enough to use that file.
// The format is described in docs/archive-format.md.
//
// The package knows nothing of archives. Who uses it compares rebuilt files with checksums of its own,
// because a parity file may come from a stranger.
package parity

import (
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
)

const (
	// MaxShards is how many data shards and parity files there can be together.
	MaxShards = 256
	// maxBlocks is how many blocks a shard has at most.
	maxBlocks = 512
	// minBlock is the size of the smallest block.
	minBlock = 64 << 10
	// pageSize is the size of the first part of a head, and what the size of a head is a multiple of.
	pageSize = 4096
	// sumSize is the size of a checksum.
	sumSize = 32
	// memory is how many bytes of shards are in memory at a time.
	memory = 64 << 20
)

// A Layout is what the content of parity files depends on, besides the bytes of the data shards.
type Layout struct {
	// Set identifies the data shards: a digest that covers all their bytes.
	Set digest.Digest
	// Sizes are the sizes of the data shards, in bytes. Shorter ones count as filled with zeros.
	Sizes []int64
}

// Count returns how many parity files a percentage of the data shards is, rounded up.
func Count(shards, percent int) int { return (shards*percent + 99) / 100 }

// Check returns an error if the shards, with a number of parity files, are more than the code allows.
func (l Layout) Check(parities int) error {
	switch {
	case len(l.Sizes) == 0 || slices.Min(l.Sizes) <= 0:
		return fmt.Errorf("there are no files, or empty ones, to compute parity from")
	case parities < 1:
		return fmt.Errorf("%d parity files", parities)
	case len(l.Sizes)+parities > MaxShards:
		return fmt.Errorf("%d volumes and %d parity files: together they can be at most %d", len(l.Sizes), parities, MaxShards)
	}
	return nil
}

// Length returns the size of the longest data shard, which is how much parity each file has.
func (l Layout) Length() int64 { return slices.Max(l.Sizes) }

// FileSize returns the size of each parity file.
func (l Layout) FileSize() int64 { return 2*l.headSize() + l.Length() }

// blockSize returns the size of the blocks of a shard: a power of two.
func blockSize(length int64) int64 {
	size := int64(minBlock)
	for size < length/maxBlocks+min(1, length%maxBlocks) {
		size *= 2
	}
	return size
}

func (l Layout) block() int64 { return blockSize(l.Length()) }

func blocksOf(length int64) int {
	size := blockSize(length)
	return int(length/size + min(1, length%size))
}

func (l Layout) blocks() int { return blocksOf(l.Length()) }

// blockAt returns the offset and the size of a block; the last one may be shorter.
func (l Layout) blockAt(i int) (at, size int64) {
	at = int64(i) * l.block()
	return at, min(l.block(), l.Length()-at)
}

func headSize(rows, blocks int) int64 {
	n := int64(pageSize) + int64(rows)*int64(blocks)*sumSize + sumSize
	return (n + pageSize - 1) / pageSize * pageSize
}

func (l Layout) headSize() int64 { return headSize(len(l.Sizes)+1, l.blocks()) }

// Reserve returns how much smaller than size data shards have to be for parity files of at most size bytes,
// however many data shards there are.
func Reserve(size int64) int64 { return 2 * headSize(MaxShards, blocksOf(size)) }

// slice returns how many bytes of each shard are processed at once: a power of two, at most a block.
func (l Layout) slice(shards int) int64 {
	size := l.block()
	for size > minBlock && size*int64(shards) > memory {
		size /= 2
	}
	return size
}
