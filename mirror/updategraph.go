package mirror

import (
	"cmp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
	"github.com/gantry-mirror/gantry/plan"
)

// Followed is a channel of an architecture for which releases were chosen.
type Followed struct {
	Channel string
	Arch    release.Arch
}

// Followed are the channels for which releases that the mirror holds were chosen,
// sorted.
func (h *Holding) Followed() []Followed {
	var all []Followed
	for _, r := range h.Releases {
		for _, name := range r.Channels {
			if f := (Followed{name, r.Arch}); !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b Followed) int { return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Arch, b.Arch)) })
	return all
}

// PlannedGraph is the graph of the hops that were planned, between releases that the
// mirror holds: without graph data, nobody knows of others. Where plans differ in
// the risks of a hop, the first one counts, which is that of this run.
func (h *Holding) PlannedGraph(f Followed) (*graph.Graph, error) {
	var nodes []graph.Node
	index := map[string]int{}
	node := func(version string) (int, bool) {
		if at, ok := index[version]; ok {
			return at, true
		}
		i := slices.IndexFunc(h.Releases, func(r HeldRelease) bool { return r.Version == version && r.Arch == f.Arch })
		v, err := semver.Parse(version)
		if i < 0 || err != nil {
			return 0, false
		}
		index[version] = len(nodes)
		nodes = append(nodes, h.Releases[i].node(v))
		return index[version], true
	}
	var plain [][2]int
	var conditional []graph.Conditional
	seen := map[[2]int]bool{}
	for _, u := range h.Updates {
		if u.Channel != f.Channel || u.Arch != f.Arch {
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

// node is the release as update graphs have it, by the name that clusters know.
func (r HeldRelease) node(v semver.Version) graph.Node {
	metadata := map[string]string{graph.ManifestKey: r.Mirror.Digest.String(), graph.ChannelsKey: strings.Join(slices.Sorted(slices.Values(r.Channels)), ",")}
	if r.URL != "" {
		metadata[graph.URLKey] = r.URL
	}
	if r.Arch == release.Multi {
		metadata[graph.ArchKey] = string(release.Multi)
	}
	return graph.Node{Version: v, Payload: r.Source, Metadata: metadata}
}

// risks are those of a hop, as update graphs have them.
func risks(h plan.Hop) []graph.Risk {
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
