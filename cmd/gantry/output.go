package main

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// text prints a result on stdout.
func (a *app) text(text string) error {
	_, err := io.WriteString(a.stdout, a.colored(a.stdout, plain(text)))
	return err
}

// columns returns the width of the terminal that stdout is, or 0 if it is none.
func (a *app) columns() int {
	f, ok := terminalOf(a.stdout)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// colored returns a text with its problems in color if w is a terminal that shows colors.
func (a *app) colored(w io.Writer, text string) string {
	if _, ok := terminalOf(w); !ok || a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" {
		return text
	}
	return view.Highlight(text)
}

// terminalOf returns a writer as a terminal, if it is one.
func terminalOf(w io.Writer) (*os.File, bool) {
	switch w := w.(type) {
	case *os.File:
		return w, term.IsTerminal(int(w.Fd()))
	case unread:
		return terminalOf(w.Writer)
	case *progress.Screen:
		return terminalOf(w.Unwrap())
	}
	return nil, false
}

// plain removes characters that a terminal could interpret. Names and messages come from catalogs,
// update graphs, releases and registries.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
