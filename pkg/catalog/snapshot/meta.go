package snapshot

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// An object in a frame is its schema, package, name, file, line and text. Strings follow their
// length; numbers are encoded as encoding/binary's Uvarint.

// writeMetas writes objects, and returns their length.
func writeMetas(w io.Writer, metas []*catalog.Meta) (int64, error) {
	written := int64(0)
	var head []byte
	for _, m := range metas {
		head = head[:0]
		for _, text := range []string{m.Schema, m.Package, m.Name, m.File} {
			head = binary.AppendUvarint(head, uint64(len(text)))
			head = append(head, text...)
		}
		head = binary.AppendUvarint(head, uint64(max(m.Line, 0)))
		text, err := m.Text()
		if err != nil {
			return written, err
		}
		head = binary.AppendUvarint(head, uint64(len(text)))
		for _, part := range [][]byte{head, text} {
			n, err := w.Write(part)
			written += int64(n)
			if err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// size returns the maximum length of objects.
func size(metas []*catalog.Meta) int64 {
	total := int64(0)
	for _, m := range metas {
		total += int64(len(m.Schema) + len(m.Package) + len(m.Name) + len(m.File) + m.Len() + 6*binary.MaxVarintLen64)
	}
	return total
}

// readMetas reads objects with the given total length, one after the other. An error is the last.
func readMetas(r io.Reader, length int64) iter.Seq2[*catalog.Meta, error] {
	return func(yield func(*catalog.Meta, error) bool) {
		limited := &io.LimitedReader{R: r, N: length + 1}
		p := metaReader{r: bufio.NewReaderSize(limited, 64<<10), limited: limited, known: map[string]string{}}
		for n := 0; !p.ended(); n++ {
			m := &catalog.Meta{Schema: p.text(), Package: p.text(), Name: p.text(), File: p.text(), Line: p.number()}
			m.Raw = p.bytes()
			if n == maxObjects {
				p.err = fmt.Errorf("more than %d objects", maxObjects)
			}
			if p.err != nil {
				yield(nil, p.err)
				return
			}
			if !yield(m, nil) {
				return
			}
		}
		if p.err == nil && p.left() != 1 {
			p.err = errors.New("the length does not match")
		}
		if p.err != nil {
			yield(nil, p.err)
		}
	}
}

// A metaReader reads the parts of objects. After an error, which it keeps, they are empty.
type metaReader struct {
	r       *bufio.Reader
	limited *io.LimitedReader
	known   map[string]string // each stored once
	err     error
}

// left returns how many bytes may follow, plus one.
func (p *metaReader) left() int64 {
	return p.limited.N + int64(p.r.Buffered())
}

// ended reports whether the input has ended.
func (p *metaReader) ended() bool {
	_, err := p.r.Peek(1)
	if err != nil && err != io.EOF {
		p.err = err
	}
	return err != nil
}

func (p *metaReader) number() int {
	const most = 1 << 40
	n, err := binary.ReadUvarint(p.r)
	switch {
	case p.err != nil:
	case err != nil:
		p.err = unexpected(err)
	case n > most:
		p.err = errors.New("a number is too large")
	default:
		return int(n)
	}
	return 0
}

func (p *metaReader) text() string {
	text := p.bytes()
	known, ok := p.known[string(text)]
	if !ok {
		known = string(text)
		p.known[known] = known
	}
	return known
}

// bytes reads a length and as many bytes. Memory is allocated as they arrive.
func (p *metaReader) bytes() []byte {
	const step = 1 << 20
	n := p.number()
	if p.err == nil && int64(n) > p.left() {
		p.err = io.ErrUnexpectedEOF
	}
	if p.err != nil {
		return nil
	}
	text := make([]byte, 0, min(n, step))
	for len(text) < n && p.err == nil {
		have := len(text)
		more := min(n-have, max(have, step))
		text = append(text, make([]byte, more)...)
		_, err := io.ReadFull(p.r, text[have:])
		p.err = unexpected(err)
	}
	return slices.Clip(text)
}

// unexpected turns io.EOF into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
