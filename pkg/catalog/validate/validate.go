// Package validate says whether OLM takes a catalog.
//
// [Catalog] judges a catalog as `opm validate` of operator-registry does, whose
// verdict decides whether a catalog can be served to a cluster: the same rules
// on the same things, in our own words. Where opm stops at the first error of
// some kinds, everything that is wrong is reported here, package by package,
// each with the file and line of the object and a rule that scripts can hold on
// to. Objects of schemas that OLM does not know are not judged; neither are
// icons, nor related images that are empty, which real catalogs have.
//
// What a file's text must be like for a catalog to be read at all is the matter
// of package catalog; a catalog that comes from there has members of the right
// types.
//
// The rules need no order and no network, and take time linear in the catalog.
package validate

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Problem is one rule that the catalog breaks in one place.
type Problem struct {
	// Rule names the rule, for instance "channel-heads".
	Rule Rule
	// File and Line are where the object begins that breaks it: slash-separated
	// below the catalog's root, and from 1. They are empty for an object that
	// was never in a file.
	File string
	Line int
	// Message says what is wrong, and names package, channel and bundle.
	Message string
}

// String is the problem as file:line: message (rule).
func (p Problem) String() string {
	text := fmt.Sprintf("%s (%s)", p.Message, p.Rule)
	if p.File != "" {
		text = fmt.Sprintf("%s:%d: %s", p.File, p.Line, text)
	}
	return text
}

// An Error has everything that OLM would not take, in the order of the model.
type Error struct {
	Problems []Problem
}

// mostShown is how many problems a person wants to see at once.
const mostShown = 50

// Error has one line a problem, for the first fifty.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return "OLM does not take the catalog: " + e.Problems[0].String()
	}
	var text strings.Builder
	fmt.Fprintf(&text, "OLM does not take the catalog, for %d reasons:", len(e.Problems))
	for i, p := range e.Problems {
		if i == mostShown {
			fmt.Fprintf(&text, "\n  and %d more", len(e.Problems)-i)
			break
		}
		text.WriteString("\n  " + p.String())
	}
	return text.String()
}

// Catalog reports what keeps OLM from taking a catalog, as an [*Error]; nil
// means that `opm validate` passes it.
func Catalog(c *catalog.Catalog) error {
	return judge(c, nil)
}

// judge is Catalog, where judged has the problems with properties already unless
// it is nil.
func judge(c *catalog.Catalog, judged map[*catalog.Bundle][]Problem) error {
	found := make([][]Problem, len(c.Packages))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(c.Packages)) {
		workers.Go(func() {
			r := report{shapes: propertyShapes(), judged: judged}
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

// A report gathers the problems of one package.
type report struct {
	problems []Problem
	shapes   map[string]*shape // of properties, by type
	shaper   shaper
	judged   map[*catalog.Bundle][]Problem
}

func (r *report) add(rule Rule, m *catalog.Meta, format string, args ...any) {
	r.problems = append(r.problems, Problem{
		Rule: rule, File: m.File, Line: m.Line, Message: fmt.Sprintf(format, args...),
	})
}
