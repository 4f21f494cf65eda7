package releasetest

import (
	"bytes"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
	"github.com/gantry-mirror/gantry/pkg/release/graphdata"
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
