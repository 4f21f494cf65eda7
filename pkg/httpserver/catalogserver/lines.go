package catalogserver

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// lines are objects as JSON lines. It keeps only their lengths; the text is made from the objects each
// time it is read.
type lines struct {
	metas []*catalog.Meta
	// ends are the offsets after the newline of each line.
	ends []int64
}

// newLines returns the lines of objects.
func newLines(metas []*catalog.Meta) (*lines, error) {
	l := &lines{metas: metas, ends: make([]int64, len(metas))}
	var buffer []byte
	end := int64(0)
	for i, m := range metas {
		var err error
		if buffer, err = appendLine(buffer[:0], m); err != nil {
			return nil, err
		}
		end += int64(len(buffer))
		l.ends[i] = end
	}
	return l, nil
}

// appendLine appends an object as one line with a newline.
func appendLine(to []byte, m *catalog.Meta) ([]byte, error) {
	to, err := jsontext.AppendFormat(to, m.Raw, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, fmt.Errorf("writing %s %s in one line: %w", m.Schema, m.Name, err)
	}
	return append(to, '\n'), nil
}

// where returns the lines that keep selects.
func (l *lines) where(keep func(*catalog.Meta) bool) *lines {
	selected := &lines{}
	end, start := int64(0), int64(0)
	for i, m := range l.metas {
		if keep(m) {
			end += l.ends[i] - start
			selected.metas, selected.ends = append(selected.metas, m), append(selected.ends, end)
		}
		start = l.ends[i]
	}
	return selected
}

// size returns the length of all lines.
func (l *lines) size() int64 {
	if len(l.ends) == 0 {
		return 0
	}
	return l.ends[len(l.ends)-1]
}

// reader returns a reader of the lines.
func (l *lines) reader() *lineReader { return &lineReader{lines: l, loaded: -1} }

// A lineReader reads lines, one at a time in memory.
type lineReader struct {
	lines  *lines
	at     int64
	loaded int // the line in the buffer, -1 for none
	line   []byte
}

// Read implements io.Reader.
func (r *lineReader) Read(b []byte) (int, error) {
	if r.at >= r.lines.size() {
		return 0, io.EOF
	}
	if len(b) == 0 {
		return 0, nil
	}
	// It is the first line that ends after the offset.
	i, _ := slices.BinarySearch(r.lines.ends, r.at+1)
	if i != r.loaded {
		line, err := appendLine(r.line[:0], r.lines.metas[i])
		if err != nil {
			return 0, err
		}
		r.line, r.loaded = line, i
	}
	left := r.lines.ends[i] - r.at
	n := copy(b, r.line[int64(len(r.line))-left:])
	r.at += int64(n)
	return n, nil
}

// Seek implements io.Seeker.
func (r *lineReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.lines.size()
	}
	if offset < 0 {
		return 0, errors.New("seeking to a negative offset")
	}
	r.at = offset
	return offset, nil
}
