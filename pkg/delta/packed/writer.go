package packed

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
)

// A Writer takes what the View of a target shows, and writes the target.
type Writer struct {
	w       *bufio.Writer
	streams []Stream
	writers []recompress.DeflateWriter // by recipe

	at   int64 // position in the target, outside of streams
	next int   // the stream that is written, or comes next
	in   bool  // in a stream
	left int64 // bytes that the stream still takes
	out  limited
}

// NewWriter returns a writer to w, which is complete after Close. It returns recompress.ErrUnsupported for recipes that this build of the program cannot follow.
func (t *Table) NewWriter(w io.Writer) (*Writer, error) {
	p := &Writer{w: bufio.NewWriterSize(w, 64<<10), streams: t.Target}
	for _, r := range t.Recipes {
		c, err := r.NewWriter(io.Discard)
		if err != nil {
			return nil, fmt.Errorf("compressing a part of the content: %w", err)
		}
		p.writers = append(p.writers, c)
	}
	return p, nil
}

// Write implements io.Writer. The error wraps ErrStream if a stream does not become as long as the table says.
func (p *Writer) Write(b []byte) (int, error) {
	n := 0
	for len(b) > 0 {
		k, err := p.some(b)
		n, b = n+k, b[k:]
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// some writes bytes that are all in the same stream, or in none.
func (p *Writer) some(b []byte) (int, error) {
	if p.in {
		b = b[:min(int64(len(b)), p.left)]
		c := p.writers[p.streams[p.next].Recipe]
		n, err := c.Write(b)
		if p.left -= int64(n); err == nil && p.left == 0 {
			err = p.end(c)
		}
		return n, err
	}
	if p.next == len(p.streams) {
		n, err := p.w.Write(b)
		p.at += int64(n)
		return n, err
	}
	s := p.streams[p.next]
	if p.at == s.Start {
		p.in, p.left, p.out = true, s.Unpacked, limited{w: p.w, left: s.Packed}
		p.writers[s.Recipe].Reset(&p.out)
		return 0, nil
	}
	n, err := p.w.Write(b[:min(int64(len(b)), s.Start-p.at)])
	p.at += int64(n)
	return n, err
}

// end ends a stream.
func (p *Writer) end(c recompress.DeflateWriter) error {
	if err := c.Close(); err != nil {
		return err
	}
	if p.out.left != 0 {
		return fmt.Errorf("%w: it has %d bytes less when it is compressed again", ErrStream, p.out.left)
	}
	p.at, p.in = p.streams[p.next].End(), false
	p.next++
	return nil
}

// Close writes what is buffered. It does not close the underlying writer.
func (p *Writer) Close() error {
	if p.in || p.next != len(p.streams) {
		return errors.New("content ends within a compressed stream")
	}
	return p.w.Flush()
}

// limited refuses to write more than the length of a stream.
type limited struct {
	w    io.Writer
	left int64
}

func (l *limited) Write(b []byte) (int, error) {
	if int64(len(b)) > l.left {
		return 0, fmt.Errorf("%w: it is longer when it is compressed again", ErrStream)
	}
	n, err := l.w.Write(b)
	l.left -= int64(n)
	return n, err
}
