package graphdata

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// shared reads a file of the real graphs beside the checkout.
func shared(tb testing.TB, name ...string) []byte {
	tb.Helper()
	dir := filepath.Join("..", "..", "..", "..", "shared", "graphs")
	data, err := os.ReadFile(filepath.Join(append([]string{dir}, name...)...))
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skip("there is no ../shared/graphs beside the checkout")
	}
	fail.On(tb, err)
	return data
}

func sharedData(tb testing.TB) *Data {
	tb.Helper()
	d, err := Read(bytes.NewReader(shared(tb, "graph-data.tar.gz")))
	fail.On(tb, err)
	return d
}

func sharedGraph(tb testing.TB, name ...string) *graph.Graph {
	tb.Helper()
	g, err := graph.Read(bytes.NewReader(shared(tb, name...)))
	fail.On(tb, err)
	return g
}

// releases returns the images from which a graph is made: every update to a node, conditional or
// not, is in the previous versions of its image.
func releases(g *graph.Graph, arch release.Arch) []Release {
	out := make([]Release, len(g.Nodes))
	for i, n := range g.Nodes {
		metadata := maps.Clone(n.Metadata)
		for _, made := range []string{graph.ChannelsKey, graph.ManifestKey, regexGone} {
			delete(metadata, made)
		}
		out[i] = Release{Version: n.Version.String(), Arch: arch, Payload: n.Payload, Metadata: metadata}
	}
	for i, n := range g.Nodes {
		for _, e := range g.From(i) {
			out[e.To].Previous = append(out[e.To].Previous, n.Version.String())
		}
	}
	return out
}

// updates returns all updates of a graph as "from to", with their risks.
func updates(g *graph.Graph) map[string][]graph.Risk {
	out := map[string][]graph.Risk{}
	for i, n := range g.Nodes {
		for _, e := range g.From(i) {
			out[n.Version.String()+" "+g.Nodes[e.To].Version.String()] = g.Risks(e)
		}
	}
	return out
}

// TestDerivedGraphs rebuilds the graphs of the revision of the graph data.
func TestDerivedGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	d := sharedData(t)
	for _, test := range []struct {
		arch    release.Arch
		channel string
	}{
		{"amd64", "eus-4.14"}, {"amd64", "stable-4.16"}, {"amd64", "fast-4.18"}, {"amd64", "stable-4.20"}, {"amd64", "eus-4.20"}, {release.Multi, "stable-4.20"},
	} {
		t.Run(fmt.Sprintf("%s-%s", test.arch, test.channel), func(t *testing.T) {
			want := sharedGraph(t, "derived", fmt.Sprintf("%s-%s.json", test.arch, test.channel))
			got, err := d.Graph(releases(want, test.arch), test.channel, test.arch)
			fail.On(t, err)
			fail.Diff(t, want.Nodes, got.Nodes)
			fail.Diff(t, updates(want), updates(got))
		})
	}
}
