package releasetest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/graphdata"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// updatesOf lists the updates of a graph, with the names of their risks.
func updatesOf(t *testing.T, g *graph.Graph) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for i, n := range g.Nodes {
		for _, e := range g.From(i) {
			risks := []string{}
			for _, r := range g.Risks(e) {
				risks = append(risks, r.Name)
			}
			all[n.Version.String()+" "+g.Nodes[e.To].Version.String()] = risks
		}
	}
	return all
}

func servedGraph(t *testing.T, w *Platform, channel string, arch release.Arch) *graph.Graph {
	t.Helper()
	text, err := w.Graph(channel, arch)
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("reading %s: %v", text, err)
	}
	return g
}

func TestGraph(t *testing.T) {
	t.Parallel()
	w := small(t)
	none := []string{}
	paused, slow := []string{"PausedPools"}, []string{"SlowPulls"}
	for _, tc := range []struct {
		channel string
		arch    release.Arch
		nodes   int
		want    map[string][]string
	}{
		{"fast-4.20", "amd64", 6, map[string][]string{
			"4.18.1 4.18.2": none, "4.18.1 4.19.1": paused, "4.18.2 4.19.1": paused, "4.18.1 4.19.2": none, "4.18.2 4.19.2": none,
			"4.19.1 4.19.2": none, "4.19.1 4.20.1": slow, "4.19.2 4.20.1": none, "4.19.2 4.20.2": none, "4.20.1 4.20.2": none,
		}},
		{"eus-4.20", "amd64", 5, map[string][]string{
			"4.18.1 4.18.2": none, "4.18.1 4.19.2": none, "4.18.2 4.19.2": none, "4.19.2 4.20.1": none, "4.19.2 4.20.2": none, "4.20.1 4.20.2": none,
		}},
		{"stable-4.18", "amd64", 2, map[string][]string{"4.18.1 4.18.2": none}},
		{"fast-4.20", release.Multi, 2, map[string][]string{"4.20.1 4.20.2": none}},
	} {
		g := servedGraph(t, w, tc.channel, tc.arch)
		if diff := cmp.Diff(tc.want, updatesOf(t, g)); diff != "" || len(g.Nodes) != tc.nodes {
			t.Errorf("%s %s: %d nodes, updates (-want +got):\n%s", tc.channel, tc.arch, len(g.Nodes), diff)
		}
	}
	g := servedGraph(t, w, "fast-4.20", release.Multi)
	i, ok := g.Find(semver.MustParse("4.20.1"))
	if !ok {
		t.Fatal("4.20.1 is not in the graph")
	}
	p := w.Payload("4.20.1-multi")
	if diff := cmp.Diff(map[string]string{
		"url":                               "https://errata.example.com/2025/4.20.1",
		"release.openshift.io/architecture": "multi",
		"io.openshift.upgrades.graph.release.channels":      "eus-4.20,fast-4.20,stable-4.20",
		"io.openshift.upgrades.graph.release.manifestref":   p.Digest.String(),
		"io.openshift.upgrades.graph.previous.remove_regex": "^(4[.]19[.]1)[+].*$",
	}, g.Nodes[i].Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if g.Nodes[i].Payload != p.Reference() {
		t.Errorf("payload %s, want %s", g.Nodes[i].Payload, p.Reference())
	}
}

// TestGraphOfUnknownChannel checks that the response for an unknown channel has empty lists.
func TestGraphOfUnknownChannel(t *testing.T) {
	t.Parallel()
	text, err := small(t).Graph("stable-4.99", "amd64")
	if err != nil || string(text) != `{"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}` {
		t.Errorf("response %s, %v", text, err)
	}
}

// TestGraphDataLeadsToGraph derives graphs from graph data and release metadata, without the
// Definition, and compares them with the responses of the service: with updates blocked for one
// architecture, several risks of one update, and updates that only the older release lists.
func TestGraphDataLeadsToGraph(t *testing.T) {
	t.Parallel()
	u := Small()
	u.Releases[3].Next = []string{"4.20.2"}
	u.Releases[5].Previous = []string{"4.19.1", "4.20.1"}
	u.Blocked = append(u.Blocked,
		Blocked{To: "4.19.1", From: []string{"4.18.2"}, Name: "AllLost", Message: "All.", URL: "https://issues.example.com/AllLost"},
		Blocked{To: "4.20.2+multi", From: []string{"4.20.1"}, Name: "MultiOnly", Message: "Multi.", URL: "https://issues.example.com/MultiOnly", PromQL: "vector(1)"},
		Blocked{To: "4.20.1", From: []string{"4.19.1"}})
	w := newFixture(t, u)
	data, err := graphdata.Read(bytes.NewReader(w.GraphData()))
	if err != nil {
		t.Fatal(err)
	}
	var releases []graphdata.Release
	for _, p := range w.Payloads {
		releases = append(releases, graphdata.Release{
			Version: p.Version, Arch: p.Arch, Payload: p.Reference(), Previous: p.Previous, Next: p.Next, Metadata: p.metadata(),
		})
	}
	for channel := range u.Channels {
		for _, arch := range []release.Arch{"amd64", release.Multi} {
			served := servedGraph(t, w, channel, arch)
			if len(served.Nodes) == 0 {
				continue
			}
			derived, err := data.Graph(releases, channel, arch)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(updatesOf(t, derived), updatesOf(t, served)); diff != "" {
				t.Errorf("%s %s: updates (-derived +served):\n%s", channel, arch, diff)
			}
			for i, n := range served.Nodes {
				if diff := cmp.Diff(derived.Nodes[i].Metadata, n.Metadata); diff != "" {
					t.Errorf("%s %s %s: metadata (-derived +served):\n%s", channel, arch, n.Version, diff)
				}
			}
		}
	}
	got := updatesOf(t, servedGraph(t, w, "fast-4.20", "amd64"))
	for update, want := range map[string][]string{
		"4.18.2 4.19.1": {"AllLost", "PausedPools"}, "4.19.2 4.20.2": {}, "4.20.1 4.20.2": {}, "4.19.1 4.20.1": {"SlowPulls"},
	} {
		if diff := cmp.Diff(want, got[update]); diff != "" {
			t.Errorf("risks of %s (-want +got):\n%s", update, diff)
		}
	}
}

// TestBlockedSources checks that the pattern of a blocked update matches only its sources.
func TestBlockedSources(t *testing.T) {
	t.Parallel()
	re := regexp.MustCompile(Blocked{From: []string{"4.18.1", "4.18.2"}}.regexp())
	for source, want := range map[string]bool{
		"4.18.1+amd64": true, "4.18.2+multi": true, "4.18.10+amd64": false, "4.18.1": false, "4x18.1+amd64": false, "14.18.1+amd64": false,
	} {
		if got := re.MatchString(source); got != want {
			t.Errorf("%s matches %s: %t, want %t", re, source, got, want)
		}
	}
}

// TestGroups checks that updates with the same risks are one group.
func TestGroups(t *testing.T) {
	t.Parallel()
	text, err := small(t).Graph("fast-4.20", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	var a response
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	want := []conditional{
		{[]pair{{"4.18.1", "4.19.1"}, {"4.18.2", "4.19.1"}}, []risk{{
			"https://issues.example.com/PausedPools", "PausedPools", "Machines of paused pools lose the network.",
			[]rule{{"PromQL", &promQL{`max(cluster_paused_pools{_id=""})`}}},
		}}},
		{[]pair{{"4.19.1", "4.20.1"}}, []risk{{
			"https://issues.example.com/SlowPulls", "SlowPulls", "Images with many layers are pulled slowly.", []rule{{Type: "Always"}},
		}}},
	}
	if diff := cmp.Diff(want, a.Conditional); diff != "" {
		t.Errorf("conditional updates (-want +got):\n%s", diff)
	}
}
