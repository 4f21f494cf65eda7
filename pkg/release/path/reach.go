package path

import (
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release/graph"
)

// A Target is a release that clusters get to from another.
type Target struct {
	Version semver.Version
	// Node is its index in the graph.
	Node int
	// Cost is that of the best path there.
	Cost Cost
}

// Reachable returns the releases that the policy lets a cluster get to, lowest
// first, without the one that it runs. The highest that is free of risks is the
// last whose Cost is Free. A version that the graph does not have is a
// [*MissingError].
func Reachable(g *graph.Graph, from semver.Version, p Policy) ([]Target, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	i, ok := g.Find(from)
	if !ok {
		return nil, missing(g, from, false)
	}
	s := newSearch(g, p)
	var targets []Target
	for to, c := range s.costsFrom(i) {
		if to != i && c != none && p.allows(c) {
			targets = append(targets, Target{g.Nodes[to].Version, to, c})
		}
	}
	return targets, nil
}

// Instead are the releases that a cluster gets to where it does not get to the one
// it should: those free of risks if there are any, else those that the policy
// allows.
type Instead struct {
	// Below is the highest below that one, Above the lowest above it, Highest the
	// highest of all; nil where there is none.
	Below, Above, Highest *Target
}

// instead looks for what a cluster that runs source gets to, around a node that it
// does not get to.
func (s *search) instead(source, to int) Instead {
	costs := s.costsFrom(source)
	nearest := func(good func(Cost) bool) (below, above, highest int) {
		below, above, highest = -1, -1, -1
		for i, c := range costs {
			if i == source || c == none || !good(c) {
				continue
			}
			if highest = i; i < to {
				below = i
			} else if above < 0 {
				above = i
			}
		}
		return below, above, highest
	}
	below, above, highest := nearest(Cost.Free)
	if highest < 0 {
		below, above, highest = nearest(s.policy.allows)
	}
	target := func(i int) *Target {
		if i < 0 {
			return nil
		}
		return &Target{s.g.Nodes[i].Version, i, costs[i]}
	}
	return Instead{target(below), target(above), target(highest)}
}

// String says what there is in half a sentence: "it gets to 4.20.3 and 4.20.12, and
// at most to 4.20.20, without risks to accept".
func (in Instead) String() string {
	if in.Highest == nil {
		return "it gets to no other release"
	}
	var near []string
	for _, t := range []*Target{in.Below, in.Above} {
		if t != nil && t.Node != in.Highest.Node {
			near = append(near, t.Version.String())
		}
	}
	s := "it gets to " + in.Highest.Version.String()
	if len(near) > 0 {
		s = "it gets to " + strings.Join(near, " and ") + ", and at most to " + in.Highest.Version.String()
	}
	if in.Highest.Cost.Free() {
		return s + ", without risks to accept"
	}
	return s + ", with risks"
}
