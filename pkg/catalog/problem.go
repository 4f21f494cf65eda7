package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is one thing in a catalog's files that cannot be read.
type Problem struct {
	// File and Line are where it stands: a slash-separated path below the
	// catalog's root, and a line from 1, or 0 for the file as a whole.
	File string
	Line int
	// Message says what is wrong and what to do about it.
	Message string
}

// String is the problem as file:line: message.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Message
	case p.Line == 0:
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// An Error has everything that kept a catalog from being read, sorted by place.
type Error struct {
	Problems []Problem
}

// mostShown is how many problems a person wants to see at once.
const mostShown = 50

// Error has one line a problem, for the first fifty.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return e.Problems[0].String()
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d problems in the catalog:", len(e.Problems))
	for i, p := range e.Problems {
		if i == mostShown {
			fmt.Fprintf(&text, "\n  and %d more", len(e.Problems)-i)
			break
		}
		text.WriteString("\n  " + p.String())
	}
	return text.String()
}

func (e *Error) add(m *Meta, format string, args ...any) {
	e.Problems = append(e.Problems, Problem{File: m.File, Line: m.Line, Message: fmt.Sprintf(format, args...)})
}

func (e *Error) sort() {
	slices.SortStableFunc(e.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}
