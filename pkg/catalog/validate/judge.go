package validate

import (
	"sync"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Judge validates a catalog whose text is not kept, which for a whole index
// saves most of the memory: a catalog is read with the judge's Options, which
// look at properties as they come, and then given to its Catalog. A judge is
// good for one catalog.
type Judge struct {
	idle sync.Pool // of *report

	mu     sync.Mutex
	judged map[*catalog.Bundle][]Problem // of properties; none for most bundles
}

// NewJudge returns a judge.
func NewJudge() *Judge {
	return &Judge{judged: map[*catalog.Bundle][]Problem{}}
}

// Options are those to read the catalog with.
func (j *Judge) Options() catalog.Options {
	return catalog.Options{Shed: j.see}
}

// see judges the properties of a bundle while their values are there.
func (j *Judge) see(b *catalog.Bundle) {
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
	j.judged[b] = r.problems
}

// Catalog reports what keeps OLM from taking the catalog, as [Catalog] does.
func (j *Judge) Catalog(c *catalog.Catalog) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return judge(c, j.judged)
}
