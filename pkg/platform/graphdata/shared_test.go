package graphdata

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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
			if diff := cmp.Diff(want.Nodes, got.Nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(updates(want), updates(got)); diff != "" {
				t.Errorf("updates (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecordedGraphs rebuilds graphs that services served years before the revision of the graph
// data. Since then no release or update was removed and none lost a risk; what was added or
// reworded is known.
func TestRecordedGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	d := sharedData(t)
	for _, test := range []struct {
		arch          release.Arch
		channel       string
		added, worded []string // risks
	}{
		{"amd64", "stable-4.9", nil, nil},
		{"s390x", "stable-4.9", nil, nil},
		{release.Multi, "candidate-4.12", nil, nil},
		{"amd64", "stable-4.13", []string{"ARODNSWrongBootSequence"}, []string{"PatchesOlderRelease"}},
		{"amd64", "stable-4.15", []string{"HyperShiftNodePoolSkewBinaryDownload", "OVNIPsecConnectivity"}, []string{"AROBrokenDNSMasq", "OVNIPsecPausedMCPConnectivity"}},
	} {
		t.Run(fmt.Sprintf("%s-%s", test.arch, test.channel), func(t *testing.T) {
			then := sharedGraph(t, "recorded", fmt.Sprintf("%s-%s.json", test.arch, test.channel))
			now, err := d.Graph(releases(then, test.arch), test.channel, test.arch)
			fail.On(t, err)
			compareNodes(t, then, now)
			before, after := updates(then), updates(now)
			if diff := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))); diff != "" {
				t.Errorf("updates (-then +now):\n%s", diff)
			}
			added, worded := map[string]bool{}, map[string]bool{}
			for pair, risks := range after {
				gone := byName(before[pair])
				for _, r := range risks {
					old, ok := gone[r.Name]
					added[r.Name] = added[r.Name] || !ok
					worded[r.Name] = worded[r.Name] || ok && !cmp.Equal(old, r)
					delete(gone, r.Name)
				}
				if len(gone) > 0 {
					t.Errorf("%s is without the risks %v", pair, slices.Sorted(maps.Keys(gone)))
				}
			}
			if diff := cmp.Diff(test.added, trueOnes(added)); diff != "" {
				t.Errorf("added risks (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.worded, trueOnes(worded)); diff != "" {
				t.Errorf("reworded risks (-want +got):\n%s", diff)
			}
		})
	}
}

// compareNodes checks that nodes are unchanged, except for additional channels and for the regular
// expressions of blocks.
func compareNodes(t *testing.T, then, now *graph.Graph) {
	t.Helper()
	bare := func(g *graph.Graph) []graph.Node {
		nodes := slices.Clone(g.Nodes)
		for i := range nodes {
			nodes[i].Channels, nodes[i].Metadata = nil, maps.Clone(nodes[i].Metadata)
			delete(nodes[i].Metadata, graph.ChannelsKey)
			delete(nodes[i].Metadata, regexGone)
		}
		return nodes
	}
	if diff := cmp.Diff(bare(then), bare(now)); diff != "" {
		t.Fatalf("nodes (-then +now):\n%s", diff)
	}
	for i, n := range then.Nodes {
		for _, c := range n.Channels {
			if !slices.Contains(now.Nodes[i].Channels, c) {
				t.Errorf("%s is no longer in %s", n.Version, c)
			}
		}
	}
}

func byName(risks []graph.Risk) map[string]graph.Risk {
	out := map[string]graph.Risk{}
	for _, r := range risks {
		out[r.Name] = r
	}
	return out
}

func trueOnes(m map[string]bool) []string {
	maps.DeleteFunc(m, func(_ string, v bool) bool { return !v })
	return slices.Sorted(maps.Keys(m))
}

func TestRealData(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	d := sharedData(t)
	if d.Version != "1.1.0" || len(d.names) != 76 || len(d.risks) == 0 {
		t.Errorf("version %s, %d channels, %d risks", d.Version, len(d.names), len(d.risks))
	}
	plain, conditional := 0, 0
	for _, blocks := range d.blocks {
		for _, b := range blocks {
			if b.risk < 0 {
				plain++
			} else {
				conditional++
			}
		}
	}
	if plain != 116 || conditional != 1601 {
		t.Errorf("%d plain blocks and %d with a risk, want 116 and 1601", plain, conditional)
	}
	names := map[string]bool{}
	for _, r := range d.risks {
		names[r.Name] = true
	}
	if len(names) != 124 {
		t.Errorf("%d names of risks, want 124", len(names))
	}
}
