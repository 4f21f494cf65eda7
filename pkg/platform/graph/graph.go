// Package graph holds the update graphs of platform releases, as update services (Cincinnati)
// return them: releases, recommended updates, and conditional updates, which are recommended to
// clusters that none of their risks applies to.
//
// Read parses and checks the JSON of a service, New builds a graph from nodes and edges, Write
// returns the JSON. All apply the rules of the cluster version operator: a pair of versions that is
// both recommended and conditional is conditional, matching rules of unknown types are ignored, and
// a graph that contradicts itself is refused.
//
// A Graph does not change once it is built. The same releases, updates and risks give equal values
// and equal bytes, in whatever order they were read.
package graph

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Node is one release.
type Node struct {
	Version semver.Version
	// Payload is the release image, by digest.
	Payload string
	// Channels are all channels that contain the release; usually sorted.
	Channels []string
	// URL is the erratum.
	URL string
	// Arch is multi if the release's metadata names it, else empty.
	Arch release.Arch
	// Metadata is all metadata of the release, including what the fields above hold.
	Metadata map[string]string
}

// A Rule defines where a risk applies. Type is "Always", or "PromQL" with the query in PromQL.
type Rule struct {
	Type, PromQL string
}

// The types of rules.
const (
	Always = "Always"
	PromQL = "PromQL"
)

// A Risk is a reason why an update is not recommended to some clusters.
type Risk struct {
	Name, Message, URL string
	Rules              []Rule
}

// Always reports whether the risk applies to every cluster: its first rule is of type Always.
func (r Risk) Always() bool { return len(r.Rules) > 0 && r.Rules[0].Type == Always }

// A Conditional is a group of updates with the same risks.
type Conditional struct {
	Pairs []Pair
	Risks []Risk
}

// A Pair is an update by its versions.
type Pair struct{ From, To string }

// An Edge is an update to the node To. Group is the number of its group of risks, -1 for an update
// that is recommended to every cluster.
type Edge struct {
	To, Group int32
}

// A Graph is an update graph. It is immutable.
type Graph struct {
	// Nodes are sorted by version, lowest first.
	Nodes []Node
	// groups are the risks of conditional updates.
	groups [][]Risk
	// The edges of node i are edges[first[i]:first[i+1]], sorted by target.
	edges []Edge
	first []int32
}

// New builds a graph from nodes, recommended edges by the indexes of nodes, and conditional edges.
// The rules of the cluster version operator apply (its pkg/cincinnati):
//
//   - A pair that is both recommended and conditional is conditional.
//   - Rules of unknown types, and rules without the data that their type needs, are dropped. A conditional update with a risk that has no rule left, or without risks, is dropped together with the recommended edge of the same pair.
//   - If several conditional updates connect the same releases, all of them are dropped.
//   - Conditional updates from versions that do not exist are ignored.
//
// These are errors: an edge to a missing node or to itself, a version that occurs twice, and a
// conditional update to a missing version.
//
// New sorts nodes in place, and sets the fields of each node that repeat its Metadata.
func New(nodes []Node, plain [][2]int, conditional []Conditional) (*Graph, error) {
	position, err := sortNodes(nodes)
	if err != nil {
		return nil, err
	}
	links, err := plainLinks(nodes, position, plain)
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
				return nil, fmt.Errorf("the conditional update from %.60q leads to %.60q, which is not in the graph", p.From, p.To)
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

// sortNodes sorts nodes by version and returns the new index of each.
func sortNodes(nodes []Node) ([]int32, error) {
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
		nodes[i].describe()
	}
	elements.Sort(order, func(a, b int) int { return Compare(nodes[a].Version, nodes[b].Version) })
	position := make([]int32, len(nodes))
	sorted := make([]Node, len(nodes))
	for at, i := range order {
		position[i], sorted[at] = int32(at), nodes[i]
		if at > 0 && Compare(sorted[at-1].Version, sorted[at].Version) == 0 {
			return nil, fmt.Errorf("%s occurs twice; an update graph holds the releases of one architecture", sorted[at].Version)
		}
	}
	copy(nodes, sorted)
	return position, nil
}

// A link is an edge before the graph is built.
type link struct{ from, to, group int32 }

// The groups of links without risks.
const (
	unconditional int32 = -1 // recommended to every cluster
	dropped       int32 = -2 // conditional, and dropped by the rules of clients
)

func plainLinks(nodes []Node, position []int32, plain [][2]int) ([]link, error) {
	links := make([]link, 0, len(plain))
	for i, e := range plain {
		from, to := e[0], e[1]
		switch n := len(position); {
		case from < 0 || from >= n || to < 0 || to >= n:
			return nil, fmt.Errorf("edge %d leads from node %d to node %d, and there are %d nodes", i, from, to, n)
		case from == to:
			return nil, fmt.Errorf("edge %d leads from %s to itself", i, nodes[position[from]].Version)
		}
		links = append(links, link{position[from], position[to], unconditional})
	}
	return links, nil
}

// A builder collects the groups of risks of updates.
type builder struct {
	groups [][]Risk
	ids    map[string]int32 // by the text of the risks
}

// group returns the number of the group with these risks, without the rules that clients drop.
func (b *builder) group(risks []Risk) int32 {
	risks, ok := prune(risks)
	if !ok {
		return dropped
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

// prune drops the rules that clients cannot evaluate, and reports whether each risk has one left.
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

// build returns the graph. It drops what clients drop, and numbers groups in the order of their
// first update, so that equal graphs are equal values.
func (b *builder) build(nodes []Node, links []link) *Graph {
	elements.Sort(links, func(x, y link) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to), cmp.Compare(x.group, y.group))
	})
	g := &Graph{Nodes: nodes, edges: make([]Edge, 0, len(links)), first: make([]int32, len(nodes)+1)}
	number := make([]int32, len(b.groups)) // number in g, from 1; 0 if none yet
	for len(links) > 0 {
		l, n := links[0], 1
		for n < len(links) && links[n].from == l.from && links[n].to == l.to {
			n++
		}
		group, ok := choose(links[:n])
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

// choose returns the group of the one link that remains of links between the same releases, which
// are sorted by group. It reports false if none remains.
func choose(links []link) (group int32, ok bool) {
	conditional := 0
	group = unconditional
	for _, l := range links {
		if l.group >= 0 {
			conditional++
			group = l.group
		}
	}
	return group, conditional == 1 || conditional == 0 && links[0].group == unconditional
}

// From returns the updates from node i, sorted by target.
func (g *Graph) From(i int) []Edge { return g.edges[g.first[i]:g.first[i+1]] }

// Risks returns the risks of an update; nil if it is recommended to every cluster.
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

// Compare orders versions by precedence, then by build metadata.
func Compare(a, b semver.Version) int {
	return cmp.Or(a.Compare(b), slices.Compare(a.Build, b.Build))
}

// Head returns the index of the highest version, -1 if the graph is empty.
func (g *Graph) Head() int { return len(g.Nodes) - 1 }

// Keep returns the subgraph of the nodes that keep selects, with the updates between them.
func (g *Graph) Keep(keep func(Node) bool) *Graph {
	var nodes []Node
	index := make([]int32, len(g.Nodes))
	for i, n := range g.Nodes {
		index[i] = -1
		if keep(n) {
			index[i] = int32(len(nodes)) //nolint:gosec // at most i
			nodes = append(nodes, n)
		}
	}
	var links []link
	for i := range g.Nodes {
		for _, e := range g.From(i) {
			if index[i] >= 0 && index[e.To] >= 0 {
				links = append(links, link{index[i], index[e.To], e.Group})
			}
		}
	}
	return (&builder{groups: g.groups}).build(nodes, links)
}
