package plan

import (
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// BlockerNote is the note about an operator that blocks a hop.
func BlockerNote(b Blocker, h Hop) string {
	return fmt.Sprintf("operator %s of catalog %s keeps clusters from %s: no bundle of it that is mirrored goes beyond OpenShift %s (%s)",
		b.Package, b.Catalog, release.Minor(h.To), b.Max, b.Bundle)
}

// unblock removes operators that are no longer in the plan from the blockers of update paths, and
// the notes about them. It copies what it changes, because plans share the paths.
func (p *Plan) unblock(removed func(Blocker) bool) {
	notes := map[string]bool{}
	p.Updates = slices.Clone(p.Updates)
	for i := range p.Updates {
		u := &p.Updates[i]
		u.Hops = slices.Clone(u.Hops)
		for j := range u.Hops {
			h := &u.Hops[j]
			h.Blockers = slices.DeleteFunc(slices.Clone(h.Blockers), func(b Blocker) bool {
				if removed(b) {
					notes[BlockerNote(b, *h)] = true
				}
				return removed(b)
			})
		}
	}
	p.Notes = slices.DeleteFunc(slices.Clone(p.Notes), func(note string) bool { return notes[note] })
}
