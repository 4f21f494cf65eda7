package view

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

const (
	// columnGap is the number of spaces between two columns.
	columnGap = 2
	// leastColumn is the width that the cells of a column are not wrapped below.
	leastColumn = 24
	// shortCell is the width up to which cells are not wrapped: 100.0 MiB, 2 images.
	shortCell = 12
	// stackIndent is the indent of rows below their first cells.
	stackIndent = 4
)

// tabulate returns a table with titles for a screen of this width; 0 is no limit. If the screen is too narrow for the
// columns, those with the titles in drop are left out, in this order, until they fit. If names in the first column are wider
// than half of the screen, or if this is not enough, each name gets a line of its own first. See align for cells that are
// wrapped.
func tabulate(width int, titles string, rows []string, drop ...string) string {
	lines := append([]string{titles}, rows...)
	if all := columnsOf(split(lines)); fits(all, width) || all[0].least <= width/2 {
		if kept, ok := dropped(width, lines, drop); ok || len(all) == 1 {
			return align(width, kept)
		}
	}
	for slices.Contains(drop, strings.TrimSpace(columnTitle(lines[0]))) {
		lines = elements.Map(lines, func(line string) string { return without(line, 0) })
	}
	names, rest := make([]string, len(lines)), make([]string, len(lines))
	for i, line := range lines {
		names[i], _, _ = strings.Cut(line, "\t")
		rest[i] = without(line, 0)
	}
	inset := strings.Repeat(" ", indent(titles)+stackIndent)
	rest, _ = dropped(width-len(inset), rest, drop)
	var b strings.Builder
	for i, text := range texts(width-len(inset), rest) {
		again := i > 0 && names[i] == names[i-1]
		writeIf(&b, !again && strings.TrimSpace(names[i]) != "", "%s\n", names[i])
		for line := range strings.Lines(text) {
			b.WriteString(inset + line)
		}
	}
	return Trimmed(b.String())
}

// columnTitle returns the title of the first column, "" if it is the only one.
func columnTitle(titles string) string {
	title, _, several := strings.Cut(titles, "\t")
	return textIf(several, "%s", title)
}

// dropped returns lines without the columns that do not fit; the first line has their titles. ok is false if the rest does
// not fit either.
func dropped(width int, lines, drop []string) (kept []string, ok bool) {
	for _, title := range drop {
		if fits(columnsOf(split(lines)), width) {
			return lines, true
		}
		at := slices.IndexFunc(strings.Split(lines[0], "\t"), func(t string) bool { return strings.TrimSpace(t) == title })
		if at >= 0 {
			lines = elements.Map(lines, func(line string) string { return without(line, at) })
		}
	}
	return lines, fits(columnsOf(split(lines)), width)
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
	return elements.Map(rows, func(cells []string) string {
		var b strings.Builder
		writeRow(&b, cells, all, width)
		return b.String()
	})
}

// split returns the cells of lines.
func split(lines []string) [][]string {
	return elements.Map(lines, func(line string) []string { return strings.Split(line, "\t") })
}

// A tableColumn is how wide a column of a table is, how wide it should be at least, and how wide its longest word is.
type tableColumn struct{ width, least, word int }

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
				all[i].word = max(all[i].word, longestWord(cell))
				all[i].least = max(all[i].least, all[i].word, min(wide, leastColumn))
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
	text := strings.TrimSpace(cell)
	if len(text) <= shortCell {
		return []string{text}
	}
	list := strings.SplitAfter(text, ", ")
	if len(list) > 1 && !slices.ContainsFunc(list, func(x string) bool { return len(x) > leastColumn }) {
		return elements.Map(list, strings.TrimSpace)
	}
	return strings.Fields(text)
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

// narrow reduces the widest columns until the table fits on the screen, if need be to their longest words. If these are too
// long together, columns get narrower than words, so that only the rows with such words are too wide.
func narrow(all []tableColumn, width int) {
	total, words := columnGap*(len(all)-1), columnGap*(len(all)-1)
	for _, c := range all {
		total, words = total+c.width, words+c.word
	}
	enough := fits(all, width)
	least := func(c tableColumn) int {
		switch {
		case enough:
			return c.least
		case words <= width:
			return c.word
		}
		return min(c.word, leastColumn)
	}
	for ; width > 0 && total > width; total-- {
		at := -1
		for i, c := range all {
			if c.width > least(c) && (at < 0 || c.width > all[at].width) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		all[at].width--
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
		if i > 0 && i == len(all)-1 && width > 0 {
			room = max(min(room, width-at), leastColumn) // a long word may have moved it
		}
		wrapped[i] = wrapWords(cell, room)
		at += max(all[i].width, widest(wrapped[i])) + columnGap
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

// widest returns the width of the widest line.
func widest(lines []string) (n int) {
	for _, line := range lines {
		n = max(n, utf8.RuneCountInString(line))
	}
	return n
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
