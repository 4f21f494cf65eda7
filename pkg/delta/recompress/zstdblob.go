package recompress

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxWindow limits the memory for decompressing zstd. Encoders of container tools use at most 8 MiB;
// "zstd --ultra" uses 128 MiB.
const maxWindow = 32 << 20

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// isSkippable reports whether b begins a skippable frame (RFC 8878, section 3.1.2).
func isSkippable(b []byte) bool {
	return len(b) >= 4 && b[0]&0xf0 == 0x50 && bytes.Equal(b[1:4], []byte{0x2a, 0x4d, 0x18})
}

// zstdBlob reads zstd frames. zstd:chunked has a frame for each part of a file, and skippable frames
// with a table of contents.
type zstdBlob struct {
	blob    io.ReaderAt
	offset  int64
	size    int64
	decoder *zstd.Decoder
}

func newZstdBlob(blob io.ReaderAt, size int64) (*zstdBlob, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return &zstdBlob{blob: blob, size: size, decoder: d}, nil
}

func (b *zstdBlob) Close() { b.decoder.Close() }

func (b *zstdBlob) next() (part, error) {
	if b.offset == b.size {
		return part{}, io.EOF
	}
	var head [8]byte
	if err := b.read(head[:4], b.offset); err != nil {
		return part{}, err
	}
	if isSkippable(head[:]) {
		if err := b.read(head[:], b.offset); err != nil {
			return part{}, err
		}
		n := int64(binary.LittleEndian.Uint32(head[4:])) + int64(len(head))
		if n > maxRaw || n > b.size-b.offset {
			return part{}, fmt.Errorf("%w: skippable frame of %d bytes", errFormat, n)
		}
		raw := make([]byte, n)
		if err := b.read(raw, b.offset); err != nil {
			return part{}, err
		}
		b.offset += n
		return part{raw: raw}, nil
	}
	if !bytes.Equal(head[:4], zstdMagic) {
		return part{}, fmt.Errorf("%w: no zstd frame at offset %d", errFormat, b.offset)
	}
	end, err := b.frameEnd()
	if err != nil {
		return part{}, err
	}
	if err := b.decoder.Reset(io.NewSectionReader(b.blob, b.offset, end-b.offset)); err != nil {
		return part{}, err
	}
	b.offset = end
	return part{content: b.decoder}, nil
}

// frameEnd returns the offset of the end of the frame at b.offset (RFC 8878, section 3.1.1).
func (b *zstdBlob) frameEnd() (int64, error) {
	var d [1]byte
	if err := b.read(d[:], b.offset+4); err != nil {
		return 0, err
	}
	single := d[0]>>5&1 == 1
	at := b.offset + 5 + []int64{0, 1, 2, 4}[d[0]&3] + []int64{0, 2, 4, 8}[d[0]>>6]
	if !single {
		at++ // window descriptor
	} else if d[0]>>6 == 0 {
		at++ // content size of one byte
	}
	for {
		var h [3]byte
		if err := b.read(h[:], at); err != nil {
			return 0, err
		}
		v := int64(h[0]) | int64(h[1])<<8 | int64(h[2])<<16
		at += 3
		if v>>1&3 == 1 { // one byte, repeated
			at++
		} else {
			at += v >> 3
		}
		if v&1 == 1 {
			break
		}
	}
	if d[0]>>2&1 == 1 {
		at += 4 // checksum
	}
	if at > b.size {
		return 0, fmt.Errorf("%w: the last zstd frame is incomplete", errFormat)
	}
	return at, nil
}

func (b *zstdBlob) read(p []byte, at int64) error {
	if at+int64(len(p)) > b.size {
		return fmt.Errorf("%w: the last zstd frame is incomplete", errFormat)
	}
	_, err := io.ReadFull(io.NewSectionReader(b.blob, at, int64(len(p))), p)
	return err
}
