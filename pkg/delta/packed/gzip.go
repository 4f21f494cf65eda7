package packed

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
)

const (
	gzipHeader    = 10
	gzipTrailer   = 8
	maxGzipHeader = 4 << 10

	gzipChecksum = 1 << 1
	gzipExtra    = 1 << 2
	gzipName     = 1 << 3
	gzipComment  = 1 << 4
)

// gzip returns the stream of a gzip file with one member. With several, its length is not the announced one, so it is not unpacked.
func (s *source) gzip() File {
	r := bufio.NewReaderSize(io.NewSectionReader(s.content, s.start, min(s.size, maxGzipHeader)), 512)
	head := make([]byte, gzipHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		return File{} // nothing is unpacked; the comparison reads it again
	}
	n := int64(gzipHeader)
	flags := head[3]
	if flags&gzipExtra != 0 {
		var b [2]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return File{}
		}
		k, err := r.Discard(int(binary.LittleEndian.Uint16(b[:])))
		if err != nil {
			return File{}
		}
		n += 2 + int64(k)
	}
	for _, flag := range []byte{gzipName, gzipComment} {
		if flags&flag == 0 {
			continue
		}
		text, err := r.ReadSlice(0)
		if err != nil {
			return File{}
		}
		n += int64(len(text))
	}
	if flags&gzipChecksum != 0 {
		n += 2
	}
	trailer := make([]byte, gzipTrailer)
	s.read(trailer, s.size-gzipTrailer)
	f := File{Streams: s.add(nil, "", n, s.size-gzipTrailer-n, int64(binary.LittleEndian.Uint32(trailer[4:])))}
	const unknownSystem = 255 // which Go writes
	switch {
	case head[9] == unknownSystem && head[8] == 0:
		f.Likely = []recompress.DeflateKind{{Compressor: "go-gzip", Level: 6}}
	case head[8] == 2: // the most compression
		f.Likely = []recompress.DeflateKind{{Compressor: "gnu-gzip", Level: 9}, {Compressor: "zlib", Level: 9}}
	case head[8] == 4: // the fastest
		f.Likely = []recompress.DeflateKind{{Compressor: "gnu-gzip", Level: 1}, {Compressor: "zlib", Level: 1}}
	default:
		f.Likely = []recompress.DeflateKind{{Compressor: "gnu-gzip", Level: 6}, {Compressor: "zlib", Level: 6}}
	}
	return f
}
