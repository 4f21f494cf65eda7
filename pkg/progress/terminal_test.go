package progress

import (
	"fmt"
	"strings"
	"testing"
)

// terminal emulates a screen of this size with the control sequences that a Screen writes. It wraps
// rows that are too long as terminals do.
type terminal struct {
	t             *testing.T
	columns, rows int
	lines         []string
	row, column   int
	writes        int
}

func (e *terminal) size() (columns, rows int) { return e.columns, e.rows }

func (e *terminal) Write(p []byte) (int, error) {
	e.writes++
	s := string(p)
	for s != "" {
		var n int
		switch {
		case s[0] == '\r':
			e.column, n = 0, 1
		case s[0] == '\n':
			e.row, e.column, n = e.row+1, 0, 1 // the tty's ONLCR
		case strings.HasPrefix(s, "\x1b[J"):
			e.erase()
			e.lines = e.lines[:e.row+1]
			n = 3
		case strings.HasPrefix(s, "\x1b[K"):
			e.erase()
			n = 3
		case s[0] == 0x1b:
			var up int
			if _, err := fmt.Sscanf(s, "\x1b[%dA", &up); err != nil || up < 1 {
				e.t.Fatalf("a sequence that is not known: %q", s)
			}
			e.row = max(e.row-up, len(e.lines)-e.rows, 0)
			n = strings.IndexByte(s, 'A') + 1
		case s[0] < ' ' || s[0] > '~':
			e.t.Fatalf("a byte that moves the cursor, or is none of ASCII: %q", s)
		default:
			e.put(s[0])
			n = 1
		}
		s = s[n:]
	}
	return len(p), nil
}

func (e *terminal) at() *string {
	for len(e.lines) <= e.row {
		e.lines = append(e.lines, "")
	}
	return &e.lines[e.row]
}

func (e *terminal) erase() {
	line := e.at()
	*line = (*line)[:min(len(*line), e.column)]
}

func (e *terminal) put(c byte) {
	if e.column == e.columns {
		e.row, e.column = e.row+1, 0
	}
	line := e.at()
	for len(*line) <= e.column {
		*line += " "
	}
	*line = (*line)[:e.column] + string(c) + (*line)[e.column+1:]
	e.column++
}

// resize changes the width of the screen, and wraps lines again as most terminals do. The lines of
// the test are not longer than the old width.
func (e *terminal) resize(columns int) {
	var lines []string
	row := e.row
	for i, line := range e.lines {
		if i == e.row {
			row = len(lines)
		}
		for len(line) > columns {
			lines, line = append(lines, line[:columns]), line[columns:]
		}
		lines = append(lines, line)
	}
	e.columns, e.lines, e.row = columns, lines, row
}

// String returns the text on the screen, without blanks at the end.
func (e *terminal) String() string { return strings.TrimRight(strings.Join(e.lines, "\n"), "\n ") }
