// Package validate checks whether OLM accepts a catalog.
//
// [Catalog] checks a catalog as `opm validate` of operator-registry does, whose result decides
// whether a catalog can be served to a cluster: the same rules with our own messages. For some
// rules opm stops at the first error. This package reports everything that is wrong, package by
// package, each problem with the file and line of the object and the name of a rule, which scripts
// can rely on. It does not check objects of schemas that OLM does not know, icons, or empty related
// images, which real catalogs have.
//
// A [Validator] does the same for a catalog whose text is not kept in memory.
//
// The syntax that a file needs for a catalog to be read at all is defined by package catalog. The
// members of a catalog from there have the right types.
//
// The rules need no particular order and no network, and take time linear in the size of the
// catalog.
package validate

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Problem is one violation of a rule.
type Problem struct {
	// Rule is the name of the rule, for instance "channel-heads".
	Rule Rule
	// File and Line are the position of the object: the slash-separated path below the catalog's
	// root, and the line counted from 1. They are empty for an object that was never in a file.
	File string
	Line int
	// Message describes the problem and names package, channel and bundle.
	Message string
}

// String returns the problem as file:line: message (rule).
func (p Problem) String() string {
	text := fmt.Sprintf("%s (%s)", p.Message, p.Rule)
	if p.File != "" {
		text = fmt.Sprintf("%s:%d: %s", p.File, p.Line, text)
	}
	return text
}

// An Error lists everything that OLM rejects, in the order of the model.
type Error struct {
	Problems []Problem
}

// mostShown is the maximum number of problems in a message.
const mostShown = 50

// Error has one line per problem, at most fifty.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return "OLM rejects the catalog: " + e.Problems[0].String()
	}
	var text strings.Builder
	fmt.Fprintf(&text, "OLM rejects the catalog for %d reasons:", len(e.Problems))
	for i, p := range e.Problems {
		if i == mostShown {
			fmt.Fprintf(&text, "\n  and %d more", len(e.Problems)-i)
			break
		}
		text.WriteString("\n  " + p.String())
	}
	return text.String()
}

// Catalog reports why OLM rejects a catalog, as an [*Error]; nil means that `opm validate` accepts
// it.
func Catalog(c *catalog.Catalog) error {
	return check(c, nil)
}

// check implements Catalog. Unless checked is nil, it has the problems of properties already.
func check(c *catalog.Catalog, checked map[*catalog.Bundle][]Problem) error {
	found := make([][]Problem, len(c.Packages))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(c.Packages)) {
		workers.Go(func() {
			r := report{shapes: propertyShapes(), checked: checked}
			for i := next.Add(1) - 1; i < int64(len(c.Packages)); i = next.Add(1) - 1 {
				r.problems = nil
				r.pkg(c.Packages[i])
				found[i] = r.problems
			}
		})
	}
	workers.Wait()

	var all Error
	for _, problems := range found {
		all.Problems = append(all.Problems, problems...)
	}
	if len(all.Problems) > 0 {
		return &all
	}
	return nil
}
