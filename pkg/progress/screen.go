package progress

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// A Screen is a terminal on which a few rows at the end are drawn again and
// again. What is written to it appears above them; where nothing is drawn, it
// is written as it is, so that a Screen may stand for any writer that several
// use at once. The cursor rests below the rows and is never hidden: whatever
// ends the process leaves a terminal as it was.
type Screen struct {
	w    io.Writer
	size func() (columns, rows int)

	mu      sync.Mutex
	drawn   []string // the rows that stand at the end
	pending []byte   // the beginning of a line, which waits for the rest while rows are drawn
}

// NewScreen makes a Screen of w. size says how large it is now, and is asked
// for each frame; nil, or sizes that are not positive, mean 80 columns and 24
// rows.
func NewScreen(w io.Writer, size func() (columns, rows int)) *Screen {
	if size == nil {
		size = func() (int, int) { return 0, 0 }
	}
	return &Screen{w: w, size: size}
}

// Size is how many columns and rows there are.
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

// Write writes above what is drawn.
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

// draw puts rows in the place of those before; none erases them. The rows have
// no control characters and are shorter than the screen is wide.
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
	_, _ = s.w.Write(b.Bytes()) // nobody waits for what is only shown
}

// up goes to where the rows begin. Where the screen became narrower, terminals
// have broken them.
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

// put writes the rows from where the cursor is, and erases what is below them.
func (s *Screen) put(b *bytes.Buffer, rows []string) {
	for _, row := range rows {
		b.WriteString(row)
		b.WriteString("\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	s.drawn = rows
}
