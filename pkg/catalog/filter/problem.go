package filter

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// A Problem is one thing that the configuration asks for and the catalog cannot
// give. Message is a sentence that says what, where and, if anything comes near,
// what may have been meant.
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

// A SelectionError says that the selection does not fit the catalog: the
// configuration is to be changed, nothing was filtered. It has every problem of
// the catalog's entry in the configuration, in the order of the file.
type SelectionError struct {
	Catalog  string // as the configuration writes it
	Problems []Problem
}

// Error is one line per problem.
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
