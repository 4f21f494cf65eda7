package deltamaker

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/archive"
)

// A member is a blob of the archive that others may be based on.
type member struct {
	Candidate
	sketch     *sketch
	base       *member // in the same archive, or nil
	depth      int     // deltas that it needs one after another, its own included
	dependents int     // blobs that need it
}

// choose returns the earlier blob that covers the most of a blob, the latest of several. It is nil if none covers enough.
func (c *compactor) choose(p *prepared) *member {
	var best *member
	most := leastCovered
	for _, m := range c.earlier {
		if m.depth >= maxDepth || !m.mayHaveMore(c.Compact.dependents()) {
			continue
		}
		if covered := p.sketch.covered(m.sketch); covered >= most {
			best, most = m, covered
		}
	}
	return best
}

// mayHaveMore reports whether another blob may need m, and so what m needs.
func (m *member) mayHaveMore(dependents int) bool {
	for ; m != nil; m = m.base {
		if m.dependents >= dependents {
			return false
		}
	}
	return true
}

// join lets later blobs be based on a blob. made is its delta, nil if it is carried whole.
func (c *compactor) join(p *prepared, base *member, made *entry) {
	m := &member{sketch: p.sketch, Candidate: Candidate{
		DeltaBase: archive.DeltaBase{Digest: p.change.Blob.Digest, Size: p.change.Blob.Size, Repository: p.change.Repository}, Source: p.change.Source,
	}}
	if made != nil {
		m.depth = 1
		if base != nil && slices.ContainsFunc(made.Bases, func(b archive.DeltaBase) bool { return b.Digest == base.Digest }) {
			m.base, m.depth = base, base.depth+1
			for a := base; a != nil; a = a.base {
				a.dependents++
			}
		}
	}
	if c.earlier = append(c.earlier, m); len(c.earlier) > maxSketches {
		c.earlier = c.earlier[1:]
	}
	if p.work != nil && p.work.content != nil {
		k := c.contents.add(m.Digest, p.work.content, p.work.size)
		p.work.content = nil
		c.contents.release(m.Digest, k)
	}
}
