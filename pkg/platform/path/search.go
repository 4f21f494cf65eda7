package path

import (
	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

// The only update to another major version leads from the last minor version of 4 to 5.0.
const (
	lastMajor, lastMinor = 4, 22
	nextMajor, nextMinor = 5, 0
)

// skips reports whether an update leaves out a minor version. The cluster version operator refuses
// such updates (GiantHop). A pre-release counts as its minor version.
func skips(from, to semver.Version) bool {
	if from.Major == to.Major {
		return to.Minor > from.Minor+1
	}
	return from.Major != lastMajor || from.Minor != lastMinor || to.Major != nextMajor || to.Minor != nextMinor
}

// A search holds the cost of each update of a graph under a policy.
//
// Updates that count go up, and nodes are sorted by version. The graph is therefore acyclic, and
// one pass in order finds the best path of every node.
type search struct {
	g      *graph.Graph
	policy Policy
	groups []Cost // by the number of the group of risks
}

func newSearch(g *graph.Graph, p Policy) *search {
	s := &search{g: g, policy: p}
	for i := range g.Nodes {
		for _, e := range g.From(i) {
			for int(e.Group) >= len(s.groups) {
				s.groups = append(s.groups, Cost{})
			}
			if e.Group >= 0 && s.groups[e.Group] == (Cost{}) {
				s.groups[e.Group] = p.cost(g.Risks(e))
			}
		}
	}
	return s
}

// cost returns the cost of the update e from node i, which has to go up.
func (s *search) cost(i int, e graph.Edge) Cost {
	c := Cost{Hops: 1}
	if e.Group >= 0 {
		c = s.groups[e.Group]
	}
	if skips(s.g.Nodes[i].Version, s.g.Nodes[e.To].Version) {
		c.Skips = 1
	}
	return c
}

// none is the cost if there is no path.
var none = Cost{Hops: -1}

func (s *search) unreached() []Cost {
	costs := make([]Cost, len(s.g.Nodes))
	for i := range costs {
		costs[i] = none
	}
	return costs
}

// costsTo returns for each node the cost of the best path from there to the target.
func (s *search) costsTo(target int) []Cost {
	costs := s.unreached()
	costs[target] = Cost{}
	for i := target - 1; i >= 0; i-- {
		for _, e := range s.g.From(i) {
			if int(e.To) > i && costs[e.To] != none {
				s.improve(&costs[i], s.cost(i, e).plus(costs[e.To]))
			}
		}
	}
	return costs
}

// costsFrom returns for each node the cost of the best path to it from the source.
func (s *search) costsFrom(source int) []Cost {
	costs := s.unreached()
	costs[source] = Cost{}
	for i := source; i < len(costs); i++ {
		if costs[i] == none {
			continue
		}
		for _, e := range s.g.From(i) {
			if int(e.To) > i {
				s.improve(&costs[e.To], costs[i].plus(s.cost(i, e)))
			}
		}
	}
	return costs
}

func (*search) improve(cost *Cost, by Cost) {
	if *cost == none || by.Compare(*cost) < 0 {
		*cost = by
	}
}
