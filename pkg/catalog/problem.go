package catalog

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Problem is one thing in a catalog's files that cannot be read.
type Problem struct {
	// File and Line are the position: a slash-separated path below the catalog's root, and a line
	// from 1, or 0 for the file as a whole.
	File string
	Line int
	// Message is what is wrong, and the remedy.
	Message string
}

// String returns the problem as file:line: message.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Message
	case p.Line == 0:
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// An Error has all reasons why a catalog could not be read, sorted by position.
type Error struct {
	Problems []Problem
}

// maxShown is the number of problems in an error's text.
const maxShown = 50

// Error returns one line per problem, for the first fifty.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return e.Problems[0].String()
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d problems in the catalog:", len(e.Problems))
	for i, p := range e.Problems {
		if i == maxShown {
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
	elements.Sort(e.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}
