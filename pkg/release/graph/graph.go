// Package graph holds the update graphs of platform releases, as update services
// (Cincinnati) answer them: releases, updates that are recommended to everybody,
// and updates that are recommended where no risk applies.
//
// What a client of such a service has to know is known here: a pair that is both
// recommended and conditional is conditional, rules of an unknown type do not
// count, and an answer that contradicts itself is refused.
package graph

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Node is one release.
type Node struct {
	Version semver.Version
	// Payload is the release image, by digest.
	Payload string
	// Channels are all channels that have the release; mostly sorted.
	Channels []string
	// URL is the erratum.
	URL string
	// Arch is multi where the release's metadata says so, else "".
	Arch release.Arch
	// Metadata is everything that the answer says of the release, the above
	// included.
	Metadata map[string]string
}

// A Rule says where a risk applies: Type is "Always", or "PromQL" with the
// query in PromQL.
type Rule struct {
	Type, PromQL string
}

// The types of rules.
const (
	Always = "Always"
	PromQL = "PromQL"
)

// A Risk is a reason for which an update is not recommended to some.
type Risk struct {
	Name, Message, URL string
	Rules              []Rule
}

// Always reports whether the risk applies to every cluster: it has a rule of
// that type before any that could say no.
func (r Risk) Always() bool { return len(r.Rules) > 0 && r.Rules[0].Type == Always }

// A Conditional is a group of updates with the same risks.
type Conditional struct {
	Pairs []Pair
	Risks []Risk
}

// A Pair is an update by its versions.
type Pair struct{ From, To string }

// An Edge is an update to the node To. Group is that of its risks, -1 for an
// update that is recommended to everybody.
type Edge struct {
	To, Group int32
}

// A Graph is an update graph. Nothing changes it.
type Graph struct {
	// Nodes are sorted by version, lowest first.
	Nodes []Node
	// groups are the risks of conditional updates.
	groups [][]Risk
	// edges holds those of node i from first[i] to first[i+1], sorted by target.
	edges []Edge
	first []int32
}

// New makes a graph of nodes, of plain edges by the indexes of nodes, and of
// conditional ones. The rules of clients apply, those of the cluster version
// operator (its pkg/cincinnati):
//
//   - A pair that is both plain and conditional is conditional.
//   - Rules of unknown types, and those without what their type needs, are left
//     out. A conditional update with a risk that has no rule left, or with no
//     risk, is left out with its plain twin.
//   - Of several conditional updates between the same releases all are left out.
//   - Conditional updates from versions that are not there concern nobody.
//
// Errors are: an edge to a node that is not there or to itself, a version that
// stands there twice, and a conditional update to an absent version.
//
// nodes is taken over and sorted; what the fields of a node say beside its
// Metadata is read from there.
func New(nodes []Node, plain [][2]int, conditional []Conditional) (*Graph, error) {
	place, err := arrange(nodes)
	if err != nil {
		return nil, err
	}
	links, err := plainLinks(nodes, place, plain)
	if err != nil {
		return nil, err
	}
	index := make(map[string]int32, len(nodes))
	for i, n := range nodes {
		index[n.Version.String()] = int32(i)
	}
	b := builder{ids: map[string]int32{}}
	for _, c := range conditional {
		group := b.group(c.Risks)
		for _, p := range c.Pairs {
			to, ok := index[p.To]
			if !ok {
				return nil, fmt.Errorf("the conditional update from %.60q leads to %.60q, which is no node of the graph", p.From, p.To)
			}
			from, ok := index[p.From]
			switch {
			case !ok:
				continue
			case from == to:
				return nil, fmt.Errorf("the conditional update of %s leads to itself", p.To)
			}
			links = append(links, link{from, to, group})
		}
	}
	return b.build(nodes, links), nil
}

// arrange sorts nodes and returns where each of them went.
func arrange(nodes []Node) ([]int32, error) {
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
		nodes[i].describe()
	}
	slices.SortFunc(order, func(a, b int) int { return Compare(nodes[a].Version, nodes[b].Version) })
	place := make([]int32, len(nodes))
	sorted := make([]Node, len(nodes))
	for at, i := range order {
		place[i], sorted[at] = int32(at), nodes[i]
		if at > 0 && Compare(sorted[at-1].Version, sorted[at].Version) == 0 {
			return nil, fmt.Errorf("%s stands in the graph twice; a graph holds the releases of one architecture", sorted[at].Version)
		}
	}
	copy(nodes, sorted)
	return place, nil
}

// A link is an edge on its way into a graph.
type link struct{ from, to, group int32 }

// The groups of links that have no risks.
const (
	everybody int32 = -1 // recommended to all
	nobody    int32 = -2 // conditional, and left out by clients
)

func plainLinks(nodes []Node, place []int32, plain [][2]int) ([]link, error) {
	links := make([]link, 0, len(plain))
	for i, e := range plain {
		from, to := e[0], e[1]
		switch n := len(place); {
		case from < 0 || from >= n || to < 0 || to >= n:
			return nil, fmt.Errorf("edge %d leads from node %d to node %d, and there are %d nodes", i, from, to, n)
		case from == to:
			return nil, fmt.Errorf("edge %d leads from %s to itself", i, nodes[place[from]].Version)
		}
		links = append(links, link{place[from], place[to], everybody})
	}
	return links, nil
}

// A builder collects the groups of risks that updates have.
type builder struct {
	groups [][]Risk
	ids    map[string]int32 // by what the risks say
}

// group returns the number of the group with these risks, less the rules that
// clients leave out.
func (b *builder) group(risks []Risk) int32 {
	risks, ok := prune(risks)
	if !ok {
		return nobody
	}
	key := fmt.Sprintf("%q", risks)
	id, ok := b.ids[key]
	if !ok {
		id = int32(len(b.groups)) //nolint:gosec // far fewer than 2^31
		b.groups = append(b.groups, risks)
		b.ids[key] = id
	}
	return id
}

// prune leaves out the rules that clients cannot evaluate, and reports whether
// each risk has one left.
func prune(risks []Risk) ([]Risk, bool) {
	out := slices.Clone(risks)
	for i := range out {
		out[i].Rules = slices.DeleteFunc(slices.Clone(out[i].Rules), func(r Rule) bool { return !r.known() })
		if len(out[i].Rules) == 0 {
			return nil, false
		}
	}
	return out, len(out) > 0
}

// known reports whether clients can evaluate the rule.
func (r Rule) known() bool {
	return r.Type == Always && r.PromQL == "" || r.Type == PromQL && r.PromQL != ""
}

// build makes the graph: what clients leave out goes, and groups are numbered in
// the order of their first update, so that equal graphs are equal values.
func (b *builder) build(nodes []Node, links []link) *Graph {
	slices.SortFunc(links, func(x, y link) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to), cmp.Compare(x.group, y.group))
	})
	g := &Graph{Nodes: nodes, edges: make([]Edge, 0, len(links)), first: make([]int32, len(nodes)+1)}
	number := make([]int32, len(b.groups)) // in g, from 1; 0: none yet
	for len(links) > 0 {
		l, n := links[0], 1
		for n < len(links) && links[n].from == l.from && links[n].to == l.to {
			n++
		}
		group, ok := settle(links[:n])
		links = links[n:]
		if !ok {
			continue
		}
		if group >= 0 {
			if number[group] == 0 {
				g.groups = append(g.groups, b.groups[group])
				number[group] = int32(len(g.groups)) //nolint:gosec // as above
			}
			group = number[group] - 1
		}
		g.edges = append(g.edges, Edge{To: l.to, Group: group})
		g.first[l.from+1]++
	}
	for i := range nodes {
		g.first[i+1] += g.first[i]
	}
	g.edges = slices.Clip(g.edges)
	return g
}

// settle decides between links of the same releases, which are sorted by group.
func settle(links []link) (group int32, ok bool) {
	conditional := 0
	group = everybody
	for _, l := range links {
		if l.group >= 0 {
			conditional++
			group = l.group
		}
	}
	return group, conditional == 1 || conditional == 0 && links[0].group == everybody
}

// From are the updates from node i, sorted by target.
func (g *Graph) From(i int) []Edge { return g.edges[g.first[i]:g.first[i+1]] }

// Risks are the risks of an update; none where it is recommended to everybody.
func (g *Graph) Risks(e Edge) []Risk {
	if e.Group < 0 {
		return nil
	}
	return g.groups[e.Group]
}

// Find returns the index of the release with that version.
func (g *Graph) Find(v semver.Version) (int, bool) {
	return slices.BinarySearchFunc(g.Nodes, v, func(n Node, v semver.Version) int { return Compare(n.Version, v) })
}

// Compare orders versions; build metadata decides where nothing else does.
func Compare(a, b semver.Version) int {
	if c := a.Compare(b); c != 0 {
		return c
	}
	return slices.Compare(a.Build, b.Build)
}

// Head returns the index of the highest version, -1 where there is none.
func (g *Graph) Head() int { return len(g.Nodes) - 1 }

// Keep returns the graph of some nodes: theirs, and the updates between them.
func (g *Graph) Keep(keep func(Node) bool) *Graph {
	var nodes []Node
	place := make([]int32, len(g.Nodes))
	for i, n := range g.Nodes {
		place[i] = -1
		if keep(n) {
			place[i] = int32(len(nodes)) //nolint:gosec // at most i
			nodes = append(nodes, n)
		}
	}
	var links []link
	for i := range g.Nodes {
		for _, e := range g.From(i) {
			if place[i] >= 0 && place[e.To] >= 0 {
				links = append(links, link{place[i], place[e.To], e.Group})
			}
		}
	}
	return (&builder{groups: g.groups}).build(nodes, links)
}
