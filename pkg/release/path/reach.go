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
// it should: those that the policy allows, and of them those free of risks.
type Instead struct {
	Allowed, Free Around
}

// Around are releases around one that is not among them: the highest below it, the
// lowest above it, and the highest of all; nil where there is none.
type Around struct {
	Below, Above, Highest *Target
}

// instead looks for what a cluster that runs source gets to, around a node that it
// does not get to.
func (s *search) instead(source, to int) Instead {
	costs := s.costsFrom(source)
	target := func(i int) *Target {
		if i < 0 {
			return nil
		}
		return &Target{s.g.Nodes[i].Version, i, costs[i]}
	}
	around := func(good func(Cost) bool) Around {
		below, above, highest := -1, -1, -1
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
		return Around{target(below), target(above), target(highest)}
	}
	return Instead{around(s.policy.allows), around(Cost.Free)}
}

// String says what there is in half a sentence: "it gets to 4.20.8 with risks for some
// clusters, and to 4.20.3 and 4.20.12, and at most to 4.20.20, without risks to accept".
func (in Instead) String() string {
	var near []string // with risks, and nearer than those without
	with := " with risks for some clusters"
	for _, t := range []*Target{in.Allowed.Below, in.Allowed.Above} {
		if t != nil && !t.Cost.Free() {
			near = append(near, t.Version.String())
			if t.Cost.Always > 0 {
				with = " with risks"
			}
		}
	}
	switch {
	case in.Allowed.Highest == nil:
		return "it gets to no other release"
	case in.Free.Highest == nil:
		return "it gets to " + in.Allowed.String() + ", with risks"
	case len(near) > 0:
		return "it gets to " + strings.Join(near, " and ") + with + ", and to " + in.Free.String() + ", without risks to accept"
	}
	return "it gets to " + in.Free.String() + ", without risks to accept"
}

// String lists the releases, of which there is one at least.
func (a Around) String() string {
	var near []string
	for _, t := range []*Target{a.Below, a.Above} {
		if t != nil && t.Node != a.Highest.Node {
			near = append(near, t.Version.String())
		}
	}
	if len(near) == 0 {
		return a.Highest.Version.String()
	}
	return strings.Join(near, " and ") + ", and at most to " + a.Highest.Version.String()
}
