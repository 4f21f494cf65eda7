package path

import (
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

// A Target is a release that a cluster can update to.
type Target struct {
	Version semver.Version
	// Node is its index in the graph.
	Node int
	// Cost is the cost of the best path to it.
	Cost Cost
}

// Reachable returns the releases that a cluster can update to under the policy, lowest first,
// without the installed one. The highest without risks is the last whose Cost is Free. A version
// that the graph does not contain is a [*MissingError].
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

// Alternatives are the releases that a cluster can reach if it cannot reach its target: those that
// the policy allows, and the risk-free ones among them.
type Alternatives struct {
	Allowed, Free Neighbors
}

// Neighbors are the reachable releases nearest to an unreachable one: the highest below it, the
// lowest above it, and the highest of all; nil if there are none.
type Neighbors struct {
	Below, Above, Highest *Target
}

// alternatives returns what a cluster that runs source can reach around a node that it cannot
// reach.
func (s *search) alternatives(source, to int) Alternatives {
	costs := s.costsFrom(source)
	target := func(i int) *Target {
		if i < 0 {
			return nil
		}
		return &Target{s.g.Nodes[i].Version, i, costs[i]}
	}
	neighbors := func(good func(Cost) bool) Neighbors {
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
		return Neighbors{target(below), target(above), target(highest)}
	}
	return Alternatives{neighbors(s.policy.allows), neighbors(Cost.Free)}
}

// String returns half a sentence: "it can update to 4.20.8 with risks for some clusters, and to
// 4.20.3 and 4.20.12, and at most to 4.20.20, without risks to accept".
func (a Alternatives) String() string {
	var near []string // with risks, and nearer than those without
	with := " with risks for some clusters"
	for _, t := range []*Target{a.Allowed.Below, a.Allowed.Above} {
		if t != nil && !t.Cost.Free() {
			near = append(near, t.Version.String())
			if t.Cost.Always > 0 {
				with = " with risks"
			}
		}
	}
	switch {
	case a.Allowed.Highest == nil:
		return "it cannot update to any other release"
	case a.Free.Highest == nil:
		return "it can update to " + a.Allowed.String() + ", with risks"
	case len(near) > 0:
		return "it can update to " + strings.Join(near, " and ") + with + ", and to " + a.Free.String() + ", without risks to accept"
	}
	return "it can update to " + a.Free.String() + ", without risks to accept"
}

// String lists the releases. There is at least one.
func (n Neighbors) String() string {
	var near []string
	for _, t := range []*Target{n.Below, n.Above} {
		if t != nil && t.Node != n.Highest.Node {
			near = append(near, t.Version.String())
		}
	}
	if len(near) == 0 {
		return n.Highest.Version.String()
	}
	return strings.Join(near, " and ") + ", and at most to " + n.Highest.Version.String()
}
