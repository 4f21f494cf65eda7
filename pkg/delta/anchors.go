package delta

import (
	"context"
	"encoding/binary"
	"math/bits"
)

const (
	anchorWidth  = 24
	anchorTable  = 1 << 19 // slots of 8 bytes, at most
	anchorProbes = 8
	prime        = 0x9E3779B185EBCA87
	prime2       = 0xC2B2AE3D27D4EB4F
)

// anchors is a sparse index of all bases. It tells where bytes of the target are in the bases, so that a worker compares with the right ranges.
// Positions are chosen by their content: both sides choose the same ones.
type anchors struct {
	slots []uint64 // 20 bits of a hash, 44 bits of an address; 0 is empty
	mask  uint64
	shift uint // a position is chosen if the hash of 8 bytes is 0 after this shift
}

// newAnchors returns an index for that many bytes, in the memory of slots if that is enough.
func newAnchors(size int64, memory []uint64) *anchors {
	every := max(6, bits.Len64(uint64(size)/(anchorTable/2)))
	slots := min(anchorTable, 1<<bits.Len64(uint64(size)>>(every-1)|0xff))
	memory = room(memory, slots, anchorTable)
	clear(memory)
	return &anchors{slots: memory, mask: uint64(slots - 1), shift: uint(64 - every)}
}

// each calls found for the chosen positions in b.
func (a *anchors) each(b []byte, found func(at int, hash uint64)) {
	for i := 0; i+anchorWidth <= len(b); i++ {
		x := binary.LittleEndian.Uint64(b[i:])
		if x*prime>>a.shift != 0 || x == 0 {
			continue
		}
		y, z := binary.LittleEndian.Uint64(b[i+8:]), binary.LittleEndian.Uint64(b[i+16:])
		h := (x*prime2 ^ bits.RotateLeft64(y*prime, 31) ^ bits.RotateLeft64(z*prime2, 17)) * prime
		found(i, h)
	}
}

// add adds the bytes at an address.
func (a *anchors) add(b []byte, address int64) {
	a.each(b, func(at int, hash uint64) {
		key, slot := hash>>44, hash>>20
		for range anchorProbes {
			s := &a.slots[slot&a.mask]
			if *s == 0 {
				*s = key<<44 | uint64(address+int64(at)+1)&(1<<44-1)
				return
			}
			if *s>>44 == key {
				return // the first one is kept
			}
			slot++
		}
	})
}

// find returns the address of bytes that have the same hash.
func (a *anchors) find(hash uint64) (int64, bool) {
	key, slot := hash>>44, hash>>20
	for range anchorProbes {
		s := a.slots[slot&a.mask]
		if s == 0 {
			return 0, false
		}
		if s>>44 == key {
			return int64(s&(1<<44-1)) - 1, true
		}
		slot++
	}
	return 0, false
}

// scan adds ranges of the bases.
func (a *anchors) scan(ctx context.Context, from *addresses, ranges []span) error {
	buf := make([]byte, 1<<20)
	for _, r := range ranges {
		for at := r.start; at < r.end; {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := buf[:min(int64(len(buf)), r.end-at)]
			if err := from.read(b, at); err != nil {
				return err
			}
			a.add(b, at)
			at += int64(len(b))
		}
	}
	return nil
}
