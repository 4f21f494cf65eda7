package build

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// recorded is a release source with the graphs in a folder next to the checkout.
type recorded struct {
	services
	folders []string
}

func (r recorded) Graph(_ context.Context, _ release.Product, channel string, arch release.Arch) (*graph.Graph, plan.UpdateGraph, error) {
	file := channel
	if channel == "eus-4.18" { // its releases are part of a recorded channel
		file = "fast-4.18"
	}
	for _, folder := range r.folders {
		f, err := os.Open("../../../../shared/graphs/" + folder + "/" + string(arch) + "-" + file + ".json")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, plan.UpdateGraph{}, err
		}
		defer f.Close()
		g, err := graph.Read(f)
		if err == nil && file != channel {
			g = g.Keep(func(n graph.Node) bool { return slices.Contains(n.Channels, channel) })
		}
		return g, plan.UpdateGraph{URL: channel}, err
	}
	return nil, plan.UpdateGraph{}, errors.New("channel " + channel + " has no releases for " + string(arch))
}

// risksOf returns the names of the risks of each hop.
func risksOf(u plan.UpdatePath) [][]string {
	all := [][]string{}
	for _, h := range u.Hops {
		var names []string
		for _, r := range h.Risks {
			names = append(names, r.Name)
		}
		all = append(all, names)
	}
	return all
}

// TestRecordedChannels checks the selection from real channels, and the risks on its paths.
func TestRecordedChannels(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads real data")
	}
	r := recorded{folders: []string{"derived", "recorded"}}
	if _, err := os.Stat("../../../../shared/graphs/derived"); err != nil {
		t.Skip("the recorded graphs are not next to the checkout")
	}
	eus := [][]string{
		{"IPsecLargeClusterConnectivity", "NetworkManagerOVNBridgeMapping"},
		{"ARO420UDRWorkerNodesFail", "HyperShiftRedundantRouter", "RuncShareProcessNamespace"},
	}
	for _, tc := range []struct {
		name, stanza string
		releases     int
		path         string   // the first
		more         []string // the other paths
		risks        [][]string
		fails        string
	}{
		{name: "a head", stanza: "channels: [{name: stable-4.15}]", releases: 1},
		{name: "a whole channel", stanza: "channels: [{name: stable-4.16, full: true}]", releases: 161},
		{
			name: "EUS to EUS, which only conditional updates lead to", stanza: "channels: [{name: eus-4.20, minVersion: 4.18.20, maxVersion: 4.20.5, shortestPath: true}]",
			releases: 3, path: "4.18.20 4.19.17?? 4.20.5??!", risks: eus,
		},
		{
			name: "the same for clusters", stanza: "channels: [{name: eus-4.20, from: [4.18.20], maxVersion: 4.20.5}]",
			fails: "imageset.yaml:5: channel eus-4.20 for amd64: 4.18.20 cannot be updated to 4.20.5: on its best path 4.18.20 -> 4.19.17 -> 4.20.5, " +
				"these risks apply to every cluster: RuncShareProcessNamespace; " +
				"it can update to 4.20.3 and 4.20.8 with risks for some clusters, and to 4.19.41 and 4.20.20, and at most to 4.20.33, without risks to accept",
		},
		{
			name: "the same, accepted by name", stanza: "channels: [{name: eus-4.20, from: [4.18.20], maxVersion: 4.20.5, risks: {accept: [RuncShareProcessNamespace]}}]",
			releases: 3, path: "4.18.20 4.19.19??! 4.20.5?!", // a query less than over 4.19.17
			risks: [][]string{{"HyperShiftRedundantRouter", "IPsecLargeClusterConnectivity", "RuncShareProcessNamespace"}, {"ARO420UDRWorkerNodesFail", "RuncShareProcessNamespace"}},
		},
		{
			name: "a minor version on, which only conditional updates lead to", stanza: "channels: [{name: stable-4.20, from: [4.19.15], maxVersion: 4.20.10}]",
			releases: 2, path: "4.19.15 4.20.10??", risks: [][]string{{"ARO420UDRWorkerNodesFail", "HyperShiftRedundantRouter"}},
		},
		{
			name: "one of those risks is forbidden", stanza: "channels: [{name: stable-4.20, from: [4.19.15], maxVersion: 4.20.10, risks: {forbid: [HyperShiftRedundantRouter]}}]",
			fails: "these risks are forbidden: HyperShiftRedundantRouter",
		},
		{
			name: "all architectures", stanza: "architectures: [multi]\n    channels: [{name: stable-4.20, from: [4.19.20]}]",
			releases: 2, path: "4.19.20 4.20.33", risks: [][]string{nil},
		},
		{
			name: "over two EUS channels", stanza: "channels: [{name: eus-4.18, from: [4.16.10]}, {name: eus-4.20}]",
			releases: 6, path: "4.16.10 4.17.56 4.18.51", more: []string{"4.18.51 4.18.52", "4.18.51 4.19.41 4.20.33"}, risks: [][]string{nil, nil},
		},
		{
			name: "no release in common", stanza: "channels: [{name: eus-4.14, from: [4.14.20]}, {name: eus-4.20}]",
			fails: "no update from 4.14.20 to channel eus-4.20 is possible: channel eus-4.20 contains none of the releases",
		},
		{
			name: "a bound that is no release of the channel", stanza: "channels: [{name: stable-4.16, minVersion: 4.13.0}]",
			releases: 161,
		},
	} {
		c, err := chooseFrom(t, r, "    "+tc.stanza+"\n")
		if tc.fails != "" || err != nil {
			if err == nil || tc.fails == "" || !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		if len(c.releases) != tc.releases {
			t.Errorf("%s: %d releases: %s", tc.name, len(c.releases), versionsOf(c))
		}
		if tc.path == "" {
			continue
		}
		if diff := cmp.Diff(append([]string{tc.path}, tc.more...), pathsOf(c)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
			continue
		}
		if diff := cmp.Diff(tc.risks, risksOf(c.updates[0])); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		for _, h := range c.updates[0].Hops {
			for _, risk := range h.Risks {
				if risk.Message == "" || risk.URL == "" || len(risk.Rules) == 0 || risk.Accepted != strings.Contains(tc.stanza, "accept: ["+risk.Name) {
					t.Errorf("%s: %+v", tc.name, risk)
				}
			}
		}
	}
}

// TestRecommendedAndConditionalUpdates checks that updates that a real graph lists both as
// recommended and as conditional are conditional.
func TestRecommendedAndConditionalUpdates(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads real data")
	}
	text, err := os.ReadFile("../../../../shared/graphs/recorded/amd64-stable-4.13.json")
	if err != nil {
		t.Skip("the recorded graphs are not next to the checkout")
	}
	var answer struct {
		Nodes            []struct{ Version string }
		Edges            [][2]int
		ConditionalEdges []struct{ Edges []graph.Pair }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	plain := map[graph.Pair]bool{}
	for _, e := range answer.Edges {
		plain[graph.Pair{From: answer.Nodes[e[0]].Version, To: answer.Nodes[e[1]].Version}] = true
	}
	twice, taken := 0, 0
	for _, c := range answer.ConditionalEdges {
		for _, pair := range c.Edges {
			if !plain[pair] {
				continue
			}
			twice++
			stanza := "    channels: [{name: stable-4.13, shortestPath: true, minVersion: " + pair.From + ", maxVersion: " + pair.To + "}]\n"
			chosen, err := chooseFrom(t, recorded{folders: []string{"recorded"}}, stanza)
			if err != nil {
				t.Fatal(err)
			}
			if h := chosen.updates[0].Hops[0]; h.To == pair.To {
				taken++
				if len(h.Risks) == 0 {
					t.Errorf("%s -> %s has no risk", h.From, h.To)
				}
			}
		}
	}
	if twice != 136 || taken == 0 {
		t.Errorf("%d updates are listed twice, %d of them were selected", twice, taken)
	}
}
