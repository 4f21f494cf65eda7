package recompress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// ErrContentSize is returned if the content is shorter or longer than the recipe announces.
var ErrContentSize = errors.New("the content has another length than the recipe announces")

// NewWriter returns a writer that takes the uncompressed content and writes the blob to w. The blob
// is complete after Close, which does not close w. How the content is divided into calls of Write
// does not change the blob. Like Check, NewWriter returns ErrUnsupported for a recipe that this build
// of the program cannot follow.
//
// Memory is below 40 MB for gzip and 60 MB for zstd. Blocks of pgzip are compressed concurrently.
// A writer that is no longer needed can be dropped without Close.
func (r *Recipe) NewWriter(w io.Writer) (io.WriteCloser, error) {
	c, err := r.known()
	if err != nil {
		return nil, err
	}
	e, err := c.open(r.level, r.size)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", r.compressor, err)
	}
	if err := r.compare(c, e); err != nil {
		return nil, err
	}
	return &writer{w: w, recipe: r, members: memberWriter{w: w, format: c.format, encoder: e}}, nil
}

type writer struct {
	w       io.Writer
	recipe  *Recipe
	members memberWriter
	next    int   // the segment after the current one
	left    int64 // content that the current member still needs
	open    bool  // a member is open
	closed  bool
	err     error
}

func (w *writer) Write(p []byte) (int, error) {
	if w.closed {
		return 0, errors.New("the writer of the blob is closed")
	}
	n := 0
	for len(p) > 0 {
		if err := w.advance(); err != nil {
			return n, err
		}
		if !w.open {
			w.err = fmt.Errorf("%w: more than %d bytes", ErrContentSize, w.recipe.ContentSize())
			return n, w.err
		}
		k := int(min(int64(len(p)), w.left))
		if w.err = w.members.write(p[:k]); w.err != nil {
			return n, w.err
		}
		w.left -= int64(k)
		n, p = n+k, p[k:]
	}
	return n, nil
}

// advance finishes a member that has its content, and begins the next one that needs any.
func (w *writer) advance() error {
	for w.err == nil && w.left == 0 {
		if w.open {
			w.open, w.err = false, w.members.finish()
			continue
		}
		if w.next == len(w.recipe.segments) {
			return nil
		}
		s := w.recipe.segments[w.next]
		w.next++
		if s.raw != nil {
			_, w.err = w.w.Write(s.raw)
			continue
		}
		var header []byte
		if len(w.recipe.headers) > 0 {
			header = w.recipe.headers[s.header]
		}
		w.open, w.left = true, s.length
		w.err = w.members.begin(header)
	}
	return w.err
}

func (w *writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	if err := w.advance(); err != nil {
		return err
	}
	if w.left > 0 {
		w.err = fmt.Errorf("%w: less than %d bytes", ErrContentSize, w.recipe.ContentSize())
	}
	return w.err
}

// A memberWriter writes members one after the other.
type memberWriter struct {
	w       io.Writer
	format  format
	encoder encoder
	crc     uint32
	size    uint32
}

func (m *memberWriter) begin(header []byte) error {
	m.crc, m.size = 0, 0
	m.encoder.Reset(m.w)
	if m.format != gzipFormat {
		return nil
	}
	_, err := m.w.Write(header)
	return err
}

func (m *memberWriter) write(p []byte) error {
	if m.format == gzipFormat {
		m.crc = crc32.Update(m.crc, crc32.IEEETable, p)
		m.size += uint32(len(p))
	}
	_, err := m.encoder.Write(p)
	return err
}

func (m *memberWriter) finish() error {
	if err := m.encoder.Close(); err != nil {
		return err
	}
	if m.format != gzipFormat {
		return nil
	}
	b := binary.LittleEndian.AppendUint32(nil, m.crc)
	_, err := m.w.Write(binary.LittleEndian.AppendUint32(b, m.size))
	return err
}
