package view

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// leastWidth is the width that sentences are not wrapped below.
	leastWidth = 40
	// hangingIndent is the further indent of a line that continues another.
	hangingIndent = 2
)

// Wrap returns a text for a screen of this width; 0 is no limit. Lines that are longer are continued below, between words.
// A path, a reference, a digest or a command line that people copy stays whole, even if it is longer than the screen is
// wide.
func Wrap(text string, width int) string {
	if width <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, end := strings.TrimSuffix(line, "\n"), line[len(strings.TrimSuffix(line, "\n")):]
		b.WriteString(wrapLine(line, max(width, leastWidth)) + end)
	}
	return b.String()
}

// commands are the programs whose command lines stay whole, and commandGroups the verbs of gantry that have others below them.
var (
	commands      = []string{"gantry", "oc", "kubectl"}
	commandGroups = []string{"archive", "catalog", "cluster", "config", "list", "plan", "registry", "release"}
)

func wrapLine(line string, width int) string {
	words := strings.Fields(line)
	inset := indent(line)
	if utf8.RuneCountInString(line) <= width || len(words) < 2 || inset > 0 && slices.Contains(commands, words[0]) {
		return line
	}
	var b strings.Builder
	at, rest := 0, line
	for i, piece := range wholePieces(words) {
		gap, _, _ := strings.Cut(rest, piece[0])
		text := strings.Join(piece, " ")
		for _, word := range piece {
			_, rest, _ = strings.Cut(rest, word)
		}
		n := utf8.RuneCountInString(text)
		if i > 0 && at+len(gap)+n > width {
			gap = "\n" + strings.Repeat(" ", inset+hangingIndent)
			at = -1
		}
		b.WriteString(gap + text)
		at += len(gap) + n
	}
	return b.String()
}

// wholePieces joins the words that stay on one line.
func wholePieces(words []string) (pieces [][]string) {
	var c commandLine
	for _, word := range words {
		if c.continues(word) {
			last := len(pieces) - 1
			pieces[last] = append(pieces[last], word)
		} else {
			pieces = append(pieces, []string{word})
		}
	}
	return pieces
}

// A commandLine is what was read of a command line in a sentence, or of a flag with its value, or of a quoted word.
type commandLine struct {
	n     int    // the words of a command line; 0 is none
	last  string // the word before
	quote string // the quote that is open
}

// continues reads a word and reports whether it belongs to the one before.
func (c *commandLine) continues(word string) (belongs bool) {
	ended := c.last == "" || strings.HasSuffix(c.last, ",") || strings.HasSuffix(c.last, ";") || strings.HasSuffix(c.last, ":") || strings.HasSuffix(c.last, ".")
	flag := strings.HasPrefix(c.last, "-") && len(c.last) > 1 && !strings.Contains(c.last, "=")
	special := strings.HasPrefix(word, "-") || strings.ContainsAny(strings.TrimRight(word, ".,:;)"), "/:@=.") || strings.ToUpper(word) == word
	switch {
	case c.quote != "":
		belongs = true
	case ended:
	case c.n == 1, c.n == 2 && slices.Contains(commandGroups, c.last):
		belongs = true // the verb
	case c.n > 1:
		belongs = special || flag
	default:
		belongs = flag && special && !strings.HasPrefix(word, "-")
	}
	if c.n > 0 && belongs {
		c.n++
	} else if c.n = 0; slices.Contains(commands, strings.TrimLeft(word, `("`)) {
		c.n = 1
	}
	if c.quote == "" && strings.HasPrefix(word, "'") {
		c.quote = "'"
	}
	if c.quote != "" && len(word) > 1 && strings.HasSuffix(strings.TrimRight(word, ".,:;)"), c.quote) {
		c.quote = ""
	}
	c.last = word
	return belongs
}
