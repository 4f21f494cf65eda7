package zlib

import (
	"encoding/binary"
	"io"
)

// bitBufferSize is how many complete bytes are collected before they are written.
const bitBufferSize = 32 << 10

// A bitWriter packs values into bytes, the first value into the lowest bits, as RFC 1951
// describes. After an error of the underlying writer it drops what follows and keeps the
// error.
type bitWriter struct {
	to    io.Writer
	bytes []byte
	bits  uint64 // not yet in bytes
	count uint   // number of valid bits, below 32 between calls
	err   error
}

func newBitWriter(to io.Writer) bitWriter {
	return bitWriter{to: to, bytes: make([]byte, 0, bitBufferSize+64)}
}

// reset discards what was not written and continues with another writer.
func (b *bitWriter) reset(to io.Writer) {
	*b = bitWriter{to: to, bytes: b.bytes[:0]}
}

// put appends the low size bits of value, which has no other bits set. The size is at most 32.
func (b *bitWriter) put(value uint32, size uint) {
	b.bits |= uint64(value) << (b.count & 63)
	b.count += size
	if b.count < 32 {
		return
	}
	b.bytes = binary.LittleEndian.AppendUint32(b.bytes, uint32(b.bits&0xffffffff))
	b.bits >>= 32
	b.count -= 32
	if len(b.bytes) >= bitBufferSize {
		b.send()
	}
}

// align fills the last byte with zero bits.
func (b *bitWriter) align() {
	for b.count > 0 {
		b.bytes = append(b.bytes, byte(b.bits))
		b.bits >>= 8
		b.count -= min(b.count, 8)
	}
}

// raw appends bytes to a stream that is aligned.
func (b *bitWriter) raw(data []byte) {
	if len(b.bytes)+len(data) > bitBufferSize {
		b.send()
	}
	if len(data) > bitBufferSize {
		if b.err == nil {
			_, b.err = b.to.Write(data)
		}
		return
	}
	b.bytes = append(b.bytes, data...)
}

// loose is the number of bits after the last complete byte.
func (b *bitWriter) loose() uint { return b.count & 7 }

// send writes the complete bytes.
func (b *bitWriter) send() {
	for b.count >= 8 {
		b.bytes = append(b.bytes, byte(b.bits))
		b.bits >>= 8
		b.count -= 8
	}
	if b.err == nil && len(b.bytes) > 0 {
		_, b.err = b.to.Write(b.bytes)
	}
	b.bytes = b.bytes[:0]
}
