package validate

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A report collects the problems of one package.
type report struct {
	problems []Problem
	shapes   map[string]*shape // of properties, by type
	shaper   shaper
	checked  map[*catalog.Bundle][]Problem
}

func (r *report) add(rule Rule, m *catalog.Meta, format string, args ...any) {
	r.problems = append(r.problems, Problem{
		Rule: rule, File: m.File, Line: m.Line, Message: fmt.Sprintf(format, args...),
	})
}
