package packed

import (
	"io"
	"sort"
)

// A View is content with some streams replaced by what they unpack to.
type View struct {
	content io.ReaderAt
	size    int64
	store   *Store
	streams []Stream
	starts  []int64 // of the streams in the view
}

// NewView returns the view of a content of size bytes. The streams are in order and were unpacked by the store, which may be nil if there are none.
func NewView(content io.ReaderAt, size int64, streams []Stream, store *Store) *View {
	v := &View{content: content, size: size, store: store, streams: streams, starts: make([]int64, len(streams))}
	grown := int64(0)
	for i, s := range streams {
		v.starts[i] = s.Start + grown
		grown += s.Unpacked - s.Packed
	}
	v.size += grown
	return v
}

// Size returns the length of the view.
func (v *View) Size() int64 { return v.size }

// Position returns where a byte of the content is that is not in a stream, or where a stream begins whose first byte it is.
func (v *View) Position(at int64) int64 {
	i := sort.Search(len(v.streams), func(i int) bool { return v.streams[i].Start >= at }) - 1
	if i < 0 {
		return at
	}
	return v.starts[i] + v.streams[i].Unpacked + at - v.streams[i].End()
}

// ReadAt implements io.ReaderAt.
func (v *View) ReadAt(b []byte, at int64) (int, error) {
	if len(v.streams) == 0 {
		return v.content.ReadAt(b, at)
	}
	n := 0
	for n < len(b) {
		k, err := v.readSome(b[n:], at+int64(n))
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// readSome reads from a stream, or from what is between two.
func (v *View) readSome(b []byte, at int64) (int, error) {
	if at >= v.size {
		return 0, io.EOF
	}
	next := sort.Search(len(v.starts), func(i int) bool { return v.starts[i] > at })
	end := v.size
	if next < len(v.starts) {
		end = v.starts[next]
	}
	from, start := v.content, at
	if next > 0 {
		s := v.streams[next-1]
		if in := at - v.starts[next-1]; in < s.Unpacked {
			from, start, end = v.store.file, s.stored+in, v.starts[next-1]+s.Unpacked
		} else {
			start = s.End() + in - s.Unpacked
		}
	}
	b = b[:min(int64(len(b)), end-at)]
	n, err := from.ReadAt(b, start)
	switch {
	case n == len(b):
		return n, nil
	case err == nil || err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
