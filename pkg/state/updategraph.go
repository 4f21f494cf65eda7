package state

import (
	"cmp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Channel is an update channel of one architecture.
type Channel struct {
	Name string
	Arch release.Arch
}

// Channels returns the channels that the releases of the mirror were selected for, sorted.
func (r *Record) Channels() []Channel {
	var all []Channel
	for _, r := range r.Releases {
		for _, name := range r.Channels {
			if c := (Channel{name, r.Arch}); !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	elements.Sort(all, func(a, b Channel) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Arch, b.Arch)) })
	return all
}

// PlannedGraph returns the update graph of a channel: the planned hops between releases of the
// mirror. Without graph data, no others are known. If plans differ in the risks of a hop, the first
// plan counts, which is the plan of this run.
func (r *Record) PlannedGraph(c Channel) (*graph.Graph, error) {
	var nodes []graph.Node
	index := map[string]int{}
	node := func(version string) (int, bool) {
		if at, ok := index[version]; ok {
			return at, true
		}
		i := slices.IndexFunc(r.Releases, func(x Release) bool { return x.Version == version && x.Arch == c.Arch })
		v, err := semver.Parse(version)
		if i < 0 || err != nil {
			return 0, false
		}
		index[version] = len(nodes)
		nodes = append(nodes, r.Releases[i].node(v))
		return index[version], true
	}
	var plain [][2]int
	var conditional []graph.Conditional
	seen := map[[2]int]bool{}
	for _, u := range r.Updates {
		if u.Channel != c.Name || u.Arch != c.Arch {
			continue
		}
		for _, hop := range u.Hops {
			from, isFrom := node(hop.From)
			to, isTo := node(hop.To)
			pair := [2]int{from, to}
			if !isFrom || !isTo || seen[pair] {
				continue
			}
			seen[pair] = true
			if len(hop.Risks) == 0 {
				plain = append(plain, pair)
				continue
			}
			conditional = append(conditional, graph.Conditional{Pairs: []graph.Pair{{From: hop.From, To: hop.To}}, Risks: risks(hop)})
		}
	}
	return graph.New(nodes, plain, conditional)
}

// node returns the release as a node of an update graph, by the name that clusters use.
func (r Release) node(v semver.Version) graph.Node {
	metadata := map[string]string{graph.ManifestKey: r.Mirror.Digest.String(), graph.ChannelsKey: strings.Join(slices.Sorted(slices.Values(r.Channels)), ",")}
	if r.URL != "" {
		metadata[graph.URLKey] = r.URL
	}
	if r.Arch == release.Multi {
		metadata[graph.ArchKey] = string(release.Multi)
	}
	return graph.Node{Version: v, Payload: r.Source, Metadata: metadata}
}

// risks returns the risks of a hop as an update graph has them.
func risks(h release.Hop) []graph.Risk {
	var all []graph.Risk
	for _, r := range h.Risks {
		risk := graph.Risk{Name: r.Name, Message: r.Message, URL: r.URL}
		for _, rule := range r.Rules {
			risk.Rules = append(risk.Rules, graph.Rule{Type: rule.Type, PromQL: rule.PromQL})
		}
		all = append(all, risk)
	}
	return all
}
