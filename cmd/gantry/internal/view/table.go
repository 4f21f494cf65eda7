package view

import (
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

// tabulate returns a table with titles for a screen of this width; 0 is no limit. See align.
func tabulate(width int, titles string, rows []string) string {
	return align(width, append([]string{titles}, rows...))
}

// align returns lines whose cells, which are separated by tabs, are below each other. A line may have
// fewer cells than others; its last one then reaches as far as it needs. If the table is wider than the
// screen, the widest columns are shortened; --output json has the whole text. A width of 0 is no limit.
func align(width int, lines []string) string {
	var rows [][]string
	n := 0
	for _, line := range lines {
		rows = append(rows, strings.Split(line, "\t"))
		n = max(n, len(rows[len(rows)-1]))
	}
	columns := make([]int, n)
	for _, cells := range rows {
		for i, cell := range cells {
			if i < len(cells)-1 || i == n-1 {
				columns[i] = max(columns[i], utf8.RuneCountInString(cell))
			}
		}
	}
	narrow(columns, width)
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
		case width > 0:
			last = cut(last, max(leastColumn, width-at))
		}
		b.WriteString(last + "\n")
	}
	return Trimmed(b.String())
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
