package delta

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

const (
	// solidWindow is how far back inserted bytes may refer: the memory of a reader. The writer uses a quarter of it, because the rest would save 1 % and take 20 MB.
	solidWindow = 16 << 20
	// solidExtra is by how many bytes inserted bytes may become longer: the header of the stream, and 3 bytes for each block of 128 KiB.
	solidExtra = 32 + frameLimit/(128<<10)*3
)

// solidWriter compresses the inserted bytes of all frames as one stream of zstd, which is flushed after each frame. The stream is never ended.
type solidWriter struct {
	z     *zstd.Encoder
	out   bytes.Buffer
	calls calls
}

func newSolidWriter(e effort) (*solidWriter, error) {
	s := &solidWriter{}
	var err error
	s.z, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(e.level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(e.solid), zstd.WithLowerEncoderMem(true))
	return s, err
}

// begin begins a stream.
func (s *solidWriter) begin() {
	s.out.Reset()
	s.z.Reset(&s.out)
	s.calls = calls{}
}

// pack returns the compressed bytes until the next call. It changes b.
func (s *solidWriter) pack(b []byte) ([]byte, error) {
	s.out.Reset()
	if len(b) == 0 {
		return nil, nil
	}
	program := s.calls.many(b)
	s.out.WriteByte(program)
	if program == 1 {
		s.calls.encode(b)
	}
	s.calls.position += uint32(len(b))
	if _, err := s.z.Write(b); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if err := s.z.Flush(); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return s.out.Bytes(), nil
}

// solidReader reads what a solidWriter wrote.
type solidReader struct {
	z     *zstd.Decoder
	in    bytes.Reader // the bytes of the current frame
	began bool
	calls calls
}

func newSolidReader() (*solidReader, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(solidWindow), zstd.WithDecoderLowmem(true))
	return &solidReader{z: z}, err
}

// read appends to out, which is empty, size bytes that are stored in so many bytes.
func (s *solidReader) read(r io.Reader, stored, size int64, out []byte) ([]byte, error) {
	raw, err := readAll(r, stored)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		if stored > 0 {
			return nil, invalid("decompressing: %d bytes for nothing", stored)
		}
		return out, nil
	}
	if stored == 0 || raw[0] > 1 {
		return nil, invalid("decompressing: an unknown filter")
	}
	s.in.Reset(raw[1:])
	if !s.began {
		s.began = true
		if err := s.z.Reset(&s.in); err != nil {
			return nil, invalid("decompressing: %v", err)
		}
	}
	out = slices.Grow(out, int(size))[:size]
	if _, err := io.ReadFull(s.z, out); err != nil {
		return nil, invalid("decompressing: %v", err)
	}
	if s.in.Len() > 0 {
		return nil, invalid("decompressing: %d bytes are left", s.in.Len())
	}
	if raw[0] == 1 {
		s.calls.decode(out)
	}
	s.calls.position += uint32(size)
	return out, nil
}

func (s *solidReader) close() { s.z.Close() }

// calls rewrites the calls and jumps of x86 programs: the byte 0xE8 or 0xE9 and the distance to a place, as a little-endian number of 32 bits. All calls
// of a function get the same bytes when the distance becomes a position. Only distances of less than 16 MiB are changed, and they stay less. The four
// bytes after 0xE8 or 0xE9 are never the start of another call. So a reader finds the same ones.
type calls struct{ position uint32 } // of the next bytes, in all inserted bytes

const farthestCall = 1 << 24

// many returns 1 if b has so many calls that it is probably a program, and 0 otherwise. In random bytes, there is one in 16,000.
func (c *calls) many(b []byte) byte {
	n := 0
	each(b, func(int) { n++ })
	if n > len(b)/2000 {
		return 1
	}
	return 0
}

func (c *calls) encode(b []byte) {
	each(b, func(at int) { shift(b[at:], c.position+uint32(at)+4) })
}

func (c *calls) decode(b []byte) {
	each(b, func(at int) { shift(b[at:], -(c.position + uint32(at) + 4)) })
}

// each calls found for the positions of distances.
func each(b []byte, found func(at int)) {
	for i := 0; i+5 <= len(b); i++ {
		if b[i]&0xFE == 0xE8 {
			if b[i+4] == 0 || b[i+4] == 0xFF {
				found(i + 1)
			}
			i += 4
		}
	}
}

// shift adds to the distance at the start of b.
func shift(b []byte, by uint32) {
	v := (binary.LittleEndian.Uint32(b) + by) & (2*farthestCall - 1)
	if v >= farthestCall {
		v |= ^uint32(2*farthestCall - 1)
	}
	binary.LittleEndian.PutUint32(b, v)
}
