// Package packed sees through compression inside files: the entries of zip files such as jars and wheels, the sections with debugging information of
// programs, and gzip files. Compressed bytes of two versions have nothing in common, however little changed, so a delta compares what they unpack to.
//
// All these formats contain streams of raw deflate (RFC 1951). Find lists those of a file. A Store unpacks them, into a temporary file, and a View is
// content with some of its streams replaced by what they unpack to. A Writer takes what a View shows and writes the content again, with each stream
// compressed to the same bytes by its recipe, which package recompress finds. A Table lists the streams for the reader of a delta, who needs no knowledge
// of zip files or programs.
//
// Content and tables may come from strangers: lengths are limited before anything is written or allocated, and streams that are not what was announced
// are errors. Memory does not depend on the length of content.
package packed

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Stream is a stream of raw deflate within content.
type Stream struct {
	Start    int64 // position of its first byte
	Packed   int64 // its length, at least 1
	Unpacked int64 // the length of what it unpacks to, at least 1
	// Recipe is an index in Table.Recipes. It is 0 for streams of bases.
	Recipe int

	stored int64 // position in the Store
}

// End returns the position after the last byte.
func (s Stream) End() int64 { return s.Start + s.Packed }

// A File lists the streams of a file, in the order of their positions. They do not overlap.
type File struct {
	Streams []Named
	// Likely are the compressors to try first.
	Likely []recompress.DeflateKind
}

// A Named stream has the name of the entry or section, which tells the streams of two versions that belong together.
type Named struct {
	Stream
	Name string
}

const (
	// minPacked is the length of the shortest stream that is worth unpacking.
	minPacked = 64
	// maxFileStreams is how many streams of a file are found.
	maxFileStreams = 1 << 16
)

// Find returns the streams of a file, which is the given range of content. What a stream unpacks to is not compared with what the file announces. Files of
// other formats, and damaged ones, have no streams; errors are those of reading.
func Find(content io.ReaderAt, start, size int64) (File, error) {
	s := &source{content: content, start: start, size: size}
	magic := make([]byte, min(4, size))
	s.read(magic, 0)
	var f File
	switch {
	case s.err != nil || size < minPacked:
	case string(magic) == "\x7fELF":
		f = s.elf()
	case string(magic[:3]) == "\x1f\x8b\x08":
		f = s.gzip()
	case string(magic) == "PK\x03\x04":
		f = s.zip()
	}
	if s.err != nil && !errors.Is(s.err, errDamaged) {
		return File{}, s.err
	}
	f.Streams = inOrder(f.Streams)
	return f, nil
}

// errDamaged ends the reading of a file.
var errDamaged = errors.New("the file is not what it seems")

// A source reads a file. After the first error, it returns zeros.
type source struct {
	content     io.ReaderAt
	start, size int64
	err         error
}

// read fills b from a position in the file.
func (s *source) read(b []byte, at int64) {
	if s.err != nil {
		return
	}
	if at < 0 || at > s.size-int64(len(b)) {
		s.err = errDamaged
		return
	}
	if n, err := s.content.ReadAt(b, s.start+at); n < len(b) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		s.err = fmt.Errorf("reading content at %d: %w", s.start+at, err)
	}
}

// add appends a stream with a position in the file, if it is possible and worth unpacking.
func (s *source) add(all []Named, name string, at, packed, unpacked int64) []Named {
	if at < 0 || packed < minPacked || packed > s.size || at > s.size-packed || unpacked < 1 || unpacked > maxUnpacked(packed) {
		return all
	}
	return append(all, Named{Stream{Start: s.start + at, Packed: packed, Unpacked: unpacked}, name})
}

// inOrder sorts streams, and removes those that overlap with one before them.
func inOrder(all []Named) []Named {
	elements.Sort(all, func(a, b Named) int { return cmp.Compare(a.Start, b.Start) })
	end := int64(-1)
	all = slices.DeleteFunc(all, func(s Named) bool {
		if s.Start < end {
			return true
		}
		end = s.End()
		return false
	})
	return all[:min(len(all), maxFileStreams)]
}
