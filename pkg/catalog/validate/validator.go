package validate

import (
	"errors"
	"slices"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Validator validates a catalog whose text is not kept in memory, which saves most of the memory
// for a whole index. Read the catalog with the validator's Options, which check properties while
// the catalog is read, and then pass it to Catalog. A validator is for one catalog.
type Validator struct {
	idle sync.Pool // of *report

	mu      sync.Mutex
	checked map[*catalog.Bundle][]Problem // of properties; nil for most bundles
	places  map[*catalog.Bundle]string    // the bundle whose place it takes; none for most bundles

	encoded []string // the annotation that names it, in base64
}

// NewValidator returns a validator.
func NewValidator() *Validator {
	return &Validator{checked: map[*catalog.Bundle][]Problem{}, places: map[*catalog.Bundle]string{}, encoded: encodedSubstitutesFor()}
}

// Options returns the options with which to read the catalog.
func (j *Validator) Options() catalog.Options {
	return catalog.Options{DropText: j.check}
}

// check checks the properties of a bundle while their values are in memory.
func (j *Validator) check(b *catalog.Bundle) {
	r, ok := j.idle.Get().(*report)
	if !ok {
		r = &report{shapes: propertyShapes()}
	}
	defer j.idle.Put(r)
	r.problems = nil
	r.properties(b)
	place := substituted(b, j.encoded)
	if len(r.problems) == 0 && place == "" {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(r.problems) > 0 {
		j.checked[b] = r.problems
	}
	if place != "" {
		j.places[b] = place
	}
}

// Catalog reports why OLM rejects the catalog, as [Catalog] does, and bundles that substitute each other in a cycle: a
// file-based catalog is served with them, but opm cannot build on their bundles.
func (j *Validator) Catalog(c *catalog.Catalog) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := check(c, j.checked)
	r := report{}
	for _, p := range c.Packages {
		r.cycles(p, j.places)
	}
	if len(r.problems) == 0 {
		return err
	}
	all := &Error{}
	_ = errors.As(err, &all)
	return &Error{Problems: append(slices.Clone(all.Problems), r.problems...)}
}
