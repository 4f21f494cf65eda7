package view

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// columnGap is the number of spaces between two columns.
	columnGap = 2
	// leastColumn is the width that a column is not shortened below.
	leastColumn = 12
	// shortened ends a shortened cell.
	shortened = "..."
)

// A table aligns the cells of lines, which are separated by tabs. Write adds lines, and Flush writes
// the table. A line may have fewer cells than others; its last one then reaches as far as it needs. If
// the table is wider than the screen, the widest columns are shortened; --output json has the whole
// text.
type table struct {
	out   io.Writer
	width int // of the screen in columns; 0 is no limit
	text  bytes.Buffer
}

func newTable(out io.Writer, width int) *table { return &table{out: out, width: width} }

// tabulate returns a table with titles for a screen of this width; 0 is no limit. Cells are separated by tabs.
func tabulate(width int, titles string, rows []string) string {
	var b strings.Builder
	t := newTable(&b, width)
	for _, row := range append([]string{titles}, rows...) {
		fmt.Fprintln(t, row)
	}
	_ = t.Flush() // into memory
	return Trimmed(b.String())
}

// Write adds text.
func (t *table) Write(p []byte) (int, error) { return t.text.Write(p) }

// Flush writes the table and empties it.
func (t *table) Flush() error {
	var rows [][]string
	n := 0
	for line := range strings.Lines(t.text.String()) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		n = max(n, len(rows[len(rows)-1]))
	}
	t.text.Reset()
	columns := make([]int, n)
	for _, cells := range rows {
		for i, cell := range cells {
			if i < len(cells)-1 || i == n-1 {
				columns[i] = max(columns[i], utf8.RuneCountInString(cell))
			}
		}
	}
	narrow(columns, t.width)
	var b strings.Builder
	for _, cells := range rows {
		at := 0
		for i, cell := range cells[:len(cells)-1] {
			cell = cut(cell, columns[i])
			b.WriteString(cell + strings.Repeat(" ", columns[i]-utf8.RuneCountInString(cell)+columnGap))
			at += columns[i] + columnGap
		}
		last := cells[len(cells)-1]
		switch {
		case len(cells) == n:
			last = cut(last, columns[n-1])
		case t.width > 0:
			last = cut(last, max(leastColumn, t.width-at))
		}
		b.WriteString(last + "\n")
	}
	_, err := io.WriteString(t.out, b.String())
	return err
}

// narrow reduces the widest columns until the table fits on the screen, but not below leastColumn.
func narrow(columns []int, width int) {
	if width <= 0 {
		return
	}
	total := columnGap * (len(columns) - 1)
	for _, n := range columns {
		total += n
	}
	for total > width {
		widest := 0
		for i, n := range columns {
			if n > columns[widest] {
				widest = i
			}
		}
		if columns[widest] <= leastColumn {
			return
		}
		columns[widest]--
		total--
	}
}

// cut shortens a cell to n columns.
func cut(cell string, n int) string {
	if utf8.RuneCountInString(cell) <= n {
		return cell
	}
	return string([]rune(cell)[:n-len(shortened)]) + shortened
}
