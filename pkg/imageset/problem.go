package imageset

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// A Position is a position in a configuration file. Line and Column count from 1; 0 means unknown.
type Position struct {
	File         string
	Line, Column int
}

// compare orders the positions of a file.
func (p Position) compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// String returns "imageset.yaml:12", as compilers write it.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.File == "":
		return fmt.Sprintf("line %d", p.Line)
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// onLine returns "on line 12", or "above" if the line is unknown.
func onLine(line int) string {
	if line == 0 {
		return "above"
	}
	return fmt.Sprintf("on line %d", line)
}

// atLine returns " (line 12)", or "" if the line is unknown.
func atLine(line int) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf(" (line %d)", line)
}

// A Problem is one error in a configuration.
type Problem struct {
	Pos Position
	// Message begins with the field, if any: `mirror.operators[0]: unknown field "chanels"`.
	Message string
	// Hint is what to do: `did you mean "channels"?`. It may be empty.
	Hint string
}

// String returns "imageset.yaml:12: message; hint".
func (p Problem) String() string {
	s := p.Message
	if at := p.Pos.String(); at != "" {
		s = at + ": " + s
	}
	if p.Hint != "" {
		s += "; " + p.Hint
	}
	return s
}

// An Error is all problems of a configuration, in the order of the file.
type Error struct {
	Problems []Problem
	// Warnings are what else should be corrected. Error does not list them.
	Warnings []Problem
}

// Error has a line for every problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Advice returns advice.Input without a hint: each problem has its own.
func (e *Error) Advice() (advice.Kind, string) { return advice.Input, "" }
