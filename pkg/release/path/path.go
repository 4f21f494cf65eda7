// Package path plans how clusters are updated: from each version that is
// installed to one target, in the update graph of the target's channel
// (pkg/release/graph), by hops that a cluster takes.
//
// A cluster goes only up, one minor version at a time, and from 4.22 to 5.0. Of
// the paths that remain the best is the one with the fewest risks: first those
// that apply to every cluster, then those that a query decides on the cluster,
// which cannot be asked from here; then the one with the fewest hops, and then the
// one whose hops are newest. Risks that the [Policy] accepts do not count, those
// that it forbids are never taken, and those that apply to every cluster are taken
// only where they were accepted. So conditional updates are used where nothing
// else leads to the target, and every hop says what its risks are.
//
// Of paths with as many risks and hops, several sources take those that have
// releases in common, installed ones included, since each release of a path has to
// be mirrored. Two paths that meet stay together.
//
// Everything here is a pure function: the same graph, set of sources and policy
// give the same paths, in whatever order the sources are.
package path

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release/graph"
)

// A Path leads from one release to another.
type Path struct {
	From, To semver.Version
	// Nodes are the indexes in the graph of the releases on it, both ends
	// included.
	Nodes []int
	// Hops are empty where From is To.
	Hops []Hop
	Cost Cost
}

// String is the path's versions with arrows between them.
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
	// Minor is set where the update leads to another minor or major version:
	// Upgradeable=False and admin gates stop those only.
	Minor bool
	// Risks are empty where the update is recommended to everybody.
	Risks []Risk
}

// A Risk is a risk of a hop, and what the policy says of it.
type Risk struct {
	graph.Risk
	Accepted, Forbidden bool
}

// A Cost is what paths are compared by, the first field first. A risk counts on
// each hop that has it, unless the policy accepts it.
type Cost struct {
	// Skips are hops that no cluster takes: they leave out a minor version.
	// They and Forbidden are 0 in every path that may be taken.
	Skips, Forbidden int
	// Always are risks that apply to every cluster, PromQL those that a query
	// decides on the cluster.
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

// Free reports that nothing but hops is in the cost: no risk that would have to be
// accepted.
func (c Cost) Free() bool { return c == Cost{Hops: c.Hops} }

func (c Cost) plus(o Cost) Cost {
	return Cost{c.Skips + o.Skips, c.Forbidden + o.Forbidden, c.Always + o.Always, c.PromQL + o.PromQL, c.Hops + o.Hops}
}

// Find returns the best path to a version from each of the sources, one for each
// different source, sorted by them. A source without a path is an error, and so
// are versions that the graph does not have: [*MissingError], [*NoPathError],
// [*BlockedError]. They are joined, versions that are missing first, each kind sorted
// by source, and returned beside the paths of the other sources.
func Find(g *graph.Graph, from []semver.Version, to semver.Version, p Policy) ([]Path, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	from = slices.Clone(from)
	slices.SortFunc(from, graph.Compare)
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
	var paths []Path
	for _, i := range sources {
		paths = append(paths, s.path(i, target, costs[i], next))
	}
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
