package deltamaker

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A member is a blob of the archive that others may be based on.
type member struct {
	Candidate
	sketch     *sketch
	bases      []*member // in the same archive, at most two: with maxDepth, it needs at most 255 deltas, as package archive accepts it
	depth      int       // deltas that it needs one after another, its own included
	dependents int       // blobs that need it
}

const (
	// mostlyCovered is how much of a blob its bases have if no more are worth their time.
	mostlyCovered = 0.5
	// leastMore is how much of a blob a second base has to cover. A sketch shows only long matches, and there are more.
	leastMore = 0.01
	// partDepth is the depth of the bases of what is only partly alike, if possible.
	partDepth = maxDepth / 4
	// almostCovered is how much of what one blob covers another one has to cover to replace it.
	almostCovered = 0.75
)

// choose returns the earlier blob that covers the most of a blob, the latest of several, and with delta.Max another one if much is left.
func (c *compactor) choose(p *prepared) []*member {
	first, covered := c.most(p.sketch)
	if first == nil {
		return nil
	}
	if c.Effort == delta.Max && covered < mostlyCovered {
		rest := p.sketch.without(first.sketch)
		if second, _ := c.upTo(max(first.depth, partDepth), rest, leastMore/(1-covered)); second != nil {
			return []*member{first, second}
		}
	}
	return []*member{first}
}

// most returns the blob that a sketch is best based on, and how much it covers: the one that covers the most, or one that needs fewer deltas. For what is
// only partly alike, that is one that covers almost as much, so that the next versions can be based on each other. If the greatest depth is reached, a new
// chain begins in the middle of the one before it.
func (c *compactor) most(s *sketch) (*member, float64) {
	best, most := c.upTo(maxDepth, s, leastCovered)
	depth, least := maxDepth/2, mostlyCovered
	switch {
	case most < mostlyCovered:
		depth, least = partDepth, most*almostCovered
	case best.depth < maxDepth:
		return best, most
	}
	if shallow, covered := c.upTo(depth, s, leastCovered); shallow != nil && covered >= least {
		return shallow, covered
	}
	return c.upTo(maxDepth-1, s, leastCovered)
}

// upTo returns the blob up to a depth that covers the most of a sketch, and how much. It is nil if none covers enough.
func (c *compactor) upTo(depth int, s *sketch, enough float64) (best *member, most float64) {
	most = enough
	for _, m := range c.earlier {
		if m.depth > depth || !m.mayHaveMore(c.Compact.dependents()) {
			continue
		}
		if covered := s.covered(m.sketch); covered >= most {
			best, most = m, covered
		}
	}
	return best, most
}

// needs calls use for m and all that it needs, each once.
func (m *member) needs(seen map[*member]bool, use func(*member)) {
	if seen[m] {
		return
	}
	seen[m] = true
	use(m)
	for _, b := range m.bases {
		b.needs(seen, use)
	}
}

// mayHaveMore reports whether another blob may need m, and so what m needs.
func (m *member) mayHaveMore(dependents int) bool {
	may := true
	m.needs(map[*member]bool{}, func(n *member) { may = may && n.dependents < dependents })
	return may
}

func candidates(bases []*member) (all []Candidate) {
	return elements.Map(bases, func(m *member) Candidate { return m.Candidate })
}

// join lets later blobs be based on a blob. made is its delta, nil if it is carried whole.
func (c *compactor) join(p *prepared, bases []*member, made *entry) {
	m := &member{sketch: p.sketch, Candidate: Candidate{
		DeltaBase: archive.DeltaBase{Digest: p.change.Blob.Digest, Size: p.change.Blob.Size, Repository: p.change.Repository}, Source: p.change.Source,
	}}
	if made != nil {
		m.depth = 1
		for _, base := range bases {
			if slices.ContainsFunc(made.Bases, func(b archive.DeltaBase) bool { return b.Digest == base.Digest }) {
				m.bases, m.depth = append(m.bases, base), max(m.depth, base.depth+1)
			}
		}
		m.needs(map[*member]bool{}, func(n *member) { n.dependents++ })
		m.dependents = 0
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
