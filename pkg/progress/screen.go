package progress

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// A Screen is a terminal whose last rows are redrawn. Text that is written to it appears above
// them. While no rows are drawn, text is written unchanged, so that a Screen can wrap any writer
// with several users. The cursor stays below the rows and is never hidden, so that the terminal is
// usable however the process ends.
type Screen struct {
	w    io.Writer
	size func() (columns, rows int)

	mu      sync.Mutex
	drawn   []string // the rows on the screen
	pending []byte   // an incomplete line, which waits for its end while rows are drawn
}

// NewScreen returns a Screen that writes to w. size returns the current size and is called for each
// frame. If it is nil or returns sizes that are not positive, the screen has 80 columns and 24
// rows.
func NewScreen(w io.Writer, size func() (columns, rows int)) *Screen {
	if size == nil {
		size = func() (int, int) { return 0, 0 }
	}
	return &Screen{w: w, size: size}
}

// Unwrap returns the writer of the screen.
func (s *Screen) Unwrap() io.Writer { return s.w }

// Size returns the number of columns and rows.
func (s *Screen) Size() (columns, rows int) {
	columns, rows = s.size()
	if columns <= 0 {
		columns = 80
	}
	if rows <= 0 {
		rows = 24
	}
	return columns, rows
}

// Write writes text above the rows.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.drawn) == 0 {
		return s.w.Write(p)
	}
	end := bytes.LastIndexByte(p, '\n') + 1
	if end == 0 {
		s.pending = append(s.pending, p...)
		return len(p), nil
	}
	var b bytes.Buffer
	rows := s.drawn
	s.erase(&b)
	b.Write(s.pending)
	b.Write(p[:end])
	s.pending = append(s.pending[:0], p[end:]...)
	s.put(&b, rows)
	if _, err := s.w.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// draw replaces the rows; without rows, it erases them. Rows have no control characters and are
// shorter than the screen is wide.
func (s *Screen) draw(rows []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(rows)+len(s.drawn) == 0 {
		return
	}
	var b bytes.Buffer
	s.up(&b)
	s.put(&b, rows)
	if len(rows) == 0 {
		b.Write(s.pending)
		s.pending = nil
	}
	_, _ = s.w.Write(b.Bytes()) // errors of the screen are ignored
}

// up moves the cursor to the first row. If the screen became narrower, the terminal has wrapped the
// rows.
func (s *Screen) up(b *bytes.Buffer) {
	columns, _ := s.Size()
	n := 0
	for _, row := range s.drawn {
		n += max(1, (len(row)+columns-1)/columns)
	}
	b.WriteByte('\r')
	if n > 0 {
		fmt.Fprintf(b, "\x1b[%dA", n)
	}
}

func (s *Screen) erase(b *bytes.Buffer) {
	s.up(b)
	b.WriteString("\x1b[J")
	s.drawn = nil
}

// put writes the rows at the cursor and erases what is below them.
func (s *Screen) put(b *bytes.Buffer, rows []string) {
	for _, row := range rows {
		b.WriteString(row)
		b.WriteString("\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	s.drawn = rows
}
