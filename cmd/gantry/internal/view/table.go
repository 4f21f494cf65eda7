package view

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// columnGap is the number of spaces between two columns.
	columnGap = 2
	// leastColumn is the width that the cells of a column are not wrapped below.
	leastColumn = 24
	// stackIndent is the indent of rows below their first cells.
	stackIndent = 4
)

// tabulate returns a table with titles for a screen of this width; 0 is no limit. If the screen is too narrow for the
// columns, those with the titles in drop are left out, in this order, until they fit. See align for cells that are wrapped.
// If the words of the rest are too long, the first cell of each row gets a line of its own.
func tabulate(width int, titles string, rows []string, drop ...string) string {
	lines := append([]string{titles}, rows...)
	for _, title := range drop {
		if fits(columnsOf(split(lines)), width) {
			break
		}
		if at := slices.IndexFunc(strings.Split(lines[0], "\t"), func(t string) bool { return strings.TrimSpace(t) == title }); at >= 0 {
			lines = each(lines, func(line string) string { return without(line, at) })
		}
	}
	if fits(columnsOf(split(lines)), width) || !strings.Contains(lines[0], "\t") {
		return align(width, lines)
	}
	rest := texts(width, each(lines, func(line string) string { return strings.Repeat(" ", indent(line)+stackIndent) + without(line, 0) }))
	var b strings.Builder
	for i, line := range lines {
		first, _, _ := strings.Cut(line, "\t")
		writeIf(&b, strings.TrimSpace(first) != "", "%s\n", first)
		b.WriteString(rest[i])
	}
	return Trimmed(b.String())
}

// without returns a line without one of its cells.
func without(line string, at int) string {
	cells := strings.Split(line, "\t")
	if at < len(cells) {
		cells = slices.Delete(cells, at, at+1)
	}
	return strings.Join(cells, "\t")
}

// align returns lines whose cells, which are separated by tabs, are below each other. A line may have fewer cells than
// others; its last one then reaches as far as it needs. If the table is wider than the screen, cells continue on the next
// line, between words. A word is never broken: if words are too long for the screen, so is the line. A width of 0 is no
// limit.
func align(width int, lines []string) string {
	return Trimmed(strings.Join(texts(width, lines), ""))
}

// texts returns the text of each line of a table.
func texts(width int, lines []string) []string {
	rows := split(lines)
	all := columnsOf(rows)
	narrow(all, width)
	return each(rows, func(cells []string) string {
		var b strings.Builder
		writeRow(&b, cells, all, width)
		return b.String()
	})
}

// split returns the cells of lines.
func split(lines []string) [][]string {
	return each(lines, func(line string) []string { return strings.Split(line, "\t") })
}

// A tableColumn is how wide a column of a table is, and how wide it has to be.
type tableColumn struct{ width, least int }

// columnsOf returns the columns of rows.
func columnsOf(rows [][]string) []tableColumn {
	n := 0
	for _, cells := range rows {
		n = max(n, len(cells))
	}
	all := make([]tableColumn, n)
	for _, cells := range rows {
		for i, cell := range cells {
			if i < len(cells)-1 || i == n-1 {
				wide := utf8.RuneCountInString(cell)
				all[i].width = max(all[i].width, wide)
				all[i].least = max(all[i].least, longestWord(cell), min(wide, leastColumn))
			}
		}
	}
	return all
}

// longestWord returns the width of the longest word of a cell with its indent.
func longestWord(cell string) (n int) {
	for _, word := range wordsOf(cell) {
		n = max(n, utf8.RuneCountInString(word))
	}
	return n + indent(cell)
}

// wordsOf returns where a cell may be wrapped: between its words, or between the elements of a list of short ones.
func wordsOf(cell string) []string {
	list := strings.SplitAfter(strings.TrimSpace(cell), ", ")
	if len(list) > 1 && !slices.ContainsFunc(list, func(x string) bool { return len(x) > leastColumn }) {
		return each(list, strings.TrimSpace)
	}
	return strings.Fields(cell)
}

// indent returns the number of spaces that a cell begins with.
func indent(cell string) int { return len(cell) - len(strings.TrimLeft(cell, " ")) }

// fits reports whether columns fit on a screen if their cells are wrapped.
func fits(all []tableColumn, width int) bool {
	total := columnGap * (len(all) - 1)
	for _, c := range all {
		total += c.least
	}
	return width <= 0 || total <= width
}

// narrow reduces the widest columns until the table fits on the screen, but not below what they need at least.
func narrow(all []tableColumn, width int) {
	total := columnGap * (len(all) - 1)
	for _, c := range all {
		total += c.width
	}
	for ; width > 0 && total > width; total-- {
		widest := -1
		for i, c := range all {
			if c.width > c.least && (widest < 0 || c.width > all[widest].width) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		all[widest].width--
	}
}

// writeRow writes a row, on several lines if cells are wrapped.
func writeRow(b *strings.Builder, cells []string, all []tableColumn, width int) {
	wrapped, at := make([][]string, len(cells)), 0
	for i, cell := range cells {
		room := all[i].width
		if i == len(cells)-1 && i < len(all)-1 { // the last cell of a shorter line
			room = utf8.RuneCountInString(cell)
			if width > 0 {
				room = max(width-at, leastColumn)
			}
		}
		wrapped[i] = wrapWords(cell, room)
		at += all[i].width + columnGap
	}
	for n := 0; ; n++ {
		var line strings.Builder
		more := false
		for i, texts := range wrapped {
			text := ""
			if n < len(texts) {
				text = texts[n]
			}
			more = more || n+1 < len(texts)
			line.WriteString(text + strings.Repeat(" ", max(0, all[i].width-utf8.RuneCountInString(text))+columnGap))
		}
		b.WriteString(line.String() + "\n")
		if !more {
			return
		}
	}
}

// wrapWords returns a cell as lines of at most n columns, unless a word is longer.
func wrapWords(cell string, n int) (lines []string) {
	if utf8.RuneCountInString(cell) <= n {
		return []string{cell}
	}
	prefix := cell[:indent(cell)]
	line := prefix
	for _, word := range wordsOf(cell) {
		if line != prefix && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > n {
			lines, line = append(lines, line), prefix
		}
		line += textIf(line != prefix, " ") + word
	}
	return append(lines, line)
}
