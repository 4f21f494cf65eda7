// Package path plans how clusters are updated: from each installed version to one target, in the
// update graph of the target's channel (pkg/platform/graph), by updates that a cluster accepts.
//
// Clusters only move up, one minor version at a time, and from 4.22 to 5.0. The best path is the
// one with the fewest risks: first those that apply to every cluster, then those that a PromQL
// query decides on the cluster, which cannot be evaluated here. Ties go to the path with the fewest
// hops, then to the one with the newest releases. Risks that the [Policy] accepts do not count.
// Forbidden risks are never taken, and risks that apply to every cluster only if they were
// accepted. Conditional updates are therefore used only if no other path leads to the target, and
// every hop lists its risks.
//
// Among paths with equal risks and hops, several sources choose paths that have releases in common,
// including installed ones, because each release of a path has to be mirrored. Two paths that join
// stay together.
//
// All functions are pure: the same graph, sources and policy give the same paths, in whatever order
// the sources are listed.
package path

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

// A Path leads from one release to another.
type Path struct {
	From, To semver.Version
	// Nodes are the indexes of its releases in the graph, both ends included.
	Nodes []int
	// Hops is empty if From is To.
	Hops []Hop
	Cost Cost
}

// String returns the versions of the path with arrows between them.
func (p Path) String() string {
	var s strings.Builder
	s.WriteString(p.From.String())
	for _, h := range p.Hops {
		s.WriteString(" -> " + h.To.String())
	}
	return s.String()
}

// A Hop is one update of a path.
type Hop struct {
	From, To semver.Version
	// FromNode and ToNode are their indexes in the graph.
	FromNode, ToNode int
	// Minor is true for an update to another minor or major version. Upgradeable=False and admin
	// gates block only those.
	Minor bool
	// Risks is empty if the update is recommended to every cluster.
	Risks []Risk
}

// A Risk is a risk of a hop, and what the policy says about it.
type Risk struct {
	graph.Risk
	Accepted, Forbidden bool
}

// A Cost compares paths, by its fields in order. A risk counts on each hop that has it, unless the
// policy accepts it.
type Cost struct {
	// Skips counts hops that leave out a minor version, which no cluster accepts. Skips and
	// Forbidden are 0 in every allowed path.
	Skips, Forbidden int
	// Always counts risks that apply to every cluster, PromQL those that a query decides on the
	// cluster.
	Always, PromQL int
	Hops           int
}

// Compare orders costs, the lower one first.
func (c Cost) Compare(o Cost) int {
	return cmp.Or(
		cmp.Compare(c.Skips, o.Skips),
		cmp.Compare(c.Forbidden, o.Forbidden),
		cmp.Compare(c.Always, o.Always),
		cmp.Compare(c.PromQL, o.PromQL),
		cmp.Compare(c.Hops, o.Hops),
	)
}

// Free reports whether the cost consists of hops only, without a risk to accept.
func (c Cost) Free() bool { return c == Cost{Hops: c.Hops} }

func (c Cost) plus(o Cost) Cost {
	return Cost{c.Skips + o.Skips, c.Forbidden + o.Forbidden, c.Always + o.Always, c.PromQL + o.PromQL, c.Hops + o.Hops}
}

// Find returns the best path to a version from each of the sources, one for each distinct source,
// sorted by source. A source without a path is an error, and so are versions that the graph does
// not contain: [*MissingError], [*NoPathError], [*BlockedError]. Errors are joined, missing
// versions first, each kind sorted by source, and returned together with the paths of the other
// sources.
func Find(g *graph.Graph, from []semver.Version, to semver.Version, p Policy) ([]Path, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	from = slices.Clone(from)
	elements.Sort(from, graph.Compare)
	from = slices.CompactFunc(from, func(a, b semver.Version) bool { return graph.Compare(a, b) == 0 })

	var errs []error
	target, ok := g.Find(to)
	if !ok {
		errs = append(errs, missing(g, to, true))
	}
	var sources []int
	for _, v := range from {
		if i, ok := g.Find(v); ok {
			sources = append(sources, i)
		} else {
			errs = append(errs, missing(g, v, false))
		}
	}
	if !ok {
		return nil, errors.Join(errs...)
	}

	s := newSearch(g, p)
	costs := s.costsTo(target)
	sources = slices.DeleteFunc(sources, func(i int) bool {
		err := s.refusal(i, target, costs)
		if err != nil {
			errs = append(errs, err)
		}
		return err != nil
	})
	next := s.share(sources, costs)
	paths := elements.Map(sources, func(i int) Path { return s.path(i, target, costs[i], next) })
	return paths, errors.Join(errs...)
}

// path follows next from a node to the target.
func (s *search) path(i, target int, cost Cost, next map[int]int) Path {
	p := Path{From: s.g.Nodes[i].Version, To: s.g.Nodes[target].Version, Nodes: []int{i}, Cost: cost}
	for i != target {
		to := next[i]
		h := Hop{From: s.g.Nodes[i].Version, To: s.g.Nodes[to].Version, FromNode: i, ToNode: to}
		h.Minor = h.From.Major != h.To.Major || h.From.Minor != h.To.Minor
		edges := s.g.From(i)
		at, _ := slices.BinarySearchFunc(edges, to, func(e graph.Edge, to int) int { return cmp.Compare(int(e.To), to) })
		for _, r := range s.g.Risks(edges[at]) {
			h.Risks = append(h.Risks, Risk{r, s.policy.accepts(r.Name), s.policy.forbids(r.Name)})
		}
		p.Nodes, p.Hops = append(p.Nodes, to), append(p.Hops, h)
		i = to
	}
	return p
}
