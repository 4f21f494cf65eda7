package validate

import (
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
}

// NewValidator returns a validator.
func NewValidator() *Validator {
	return &Validator{checked: map[*catalog.Bundle][]Problem{}}
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
	if len(r.problems) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.checked[b] = r.problems
}

// Catalog reports why OLM rejects the catalog, as [Catalog] does.
func (j *Validator) Catalog(c *catalog.Catalog) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return check(c, j.checked)
}
