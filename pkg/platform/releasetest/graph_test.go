package releasetest

import (
	"bytes"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
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
			risks = append(risks, elements.Map(g.Risks(e), func(r graph.Risk) string { return r.Name })...)
			all[n.Version.String()+" "+g.Nodes[e.To].Version.String()] = risks
		}
	}
	return all
}

func servedGraph(t *testing.T, w *Platform, channel string, arch release.Arch) *graph.Graph {
	t.Helper()
	text, err := w.Graph(channel, arch)
	fail.On(t, err)
	g, err := graph.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("reading %s: %v", text, err)
	}
	return g
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
	fail.On(t, err)
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
			fail.On(t, err)
			fail.Diff(t, updatesOf(t, derived), updatesOf(t, served))
			for i, n := range served.Nodes {
				fail.Diff(t, derived.Nodes[i].Metadata, n.Metadata)
			}
		}
	}
	got := updatesOf(t, servedGraph(t, w, "fast-4.20", "amd64"))
	for update, want := range map[string][]string{
		"4.18.2 4.19.1": {"AllLost", "PausedPools"}, "4.19.2 4.20.2": {}, "4.20.1 4.20.2": {}, "4.19.1 4.20.1": {"SlowPulls"},
	} {
		fail.Diff(t, want, got[update])
	}
}
