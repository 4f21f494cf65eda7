package filter

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// A Problem is one thing that the configuration selects and the catalog does not have. Message says
// what is missing and, if a name is similar, suggests it.
type Problem struct {
	Pos     imageset.Position
	Message string
}

// String is "imageset.yaml:12: package ...".
func (p Problem) String() string {
	if at := p.Pos.String(); at != "" {
		return at + ": " + p.Message
	}
	return p.Message
}

// A SelectionError means that the selection does not match the catalog, so that the configuration
// must be changed. Nothing was filtered. It has all problems of one entry of mirror.operators, in
// the order of the file.
type SelectionError struct {
	Catalog  string // as in the configuration
	Problems []Problem
}

// Advice implements advice.Adviser. The hints are in the problems.
func (e *SelectionError) Advice() (advice.Kind, string) { return advice.Input, "" }

// Error returns one line per problem.
func (e *SelectionError) Error() string {
	if len(e.Problems) == 1 {
		return fmt.Sprintf("selecting from %s: %s", e.Catalog, e.Problems[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "selecting from %s: %d problems", e.Catalog, len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}
