package graphdata

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// payload is a release image whose digest begins like the end of its version.
func payload(version string, previous ...string) Release {
	return Release{Version: version, Arch: "amd64", Payload: "example.com/release@sha256:" + version, Previous: previous}
}

// drawn returns the updates of a graph, "4.1.0 -> 4.2.0 (Risk, Other)".
func drawn(g *graph.Graph) []string {
	var out []string
	for i, n := range g.Nodes {
		for _, e := range g.From(i) {
			line := n.Version.String() + " -> " + g.Nodes[e.To].Version.String()
			risks := elements.Map(g.Risks(e), func(r graph.Risk) string { return r.Name })
			if len(risks) > 0 {
				line += " (" + strings.Join(risks, ", ") + ")"
			}
			out = append(out, line)
		}
	}
	return out
}

// named is a file of blocked-edges for a risk with the name.
func named(name, to, from string) string {
	return strings.Replace(risk(to, from), "name: R", "name: "+name, 1)
}

func TestGraph(t *testing.T) {
	all := "[4.1.0, 4.1.1, 4.1.10, 4.2.0]"
	for _, test := range []struct {
		name     string
		files    map[string]string
		releases []Release
		want     []string
	}{
		{"updates of images", nil, []Release{payload("4.1.0"), payload("4.1.1", "4.1.0", "4.0.9"), {Version: "4.2.0", Arch: "amd64", Previous: []string{"4.1.1"}, Next: []string{"4.3.0"}}},
			[]string{"4.1.0 -> 4.1.1", "4.1.1 -> 4.2.0"}},
		{"next", nil, []Release{{Version: "4.1.0", Arch: "amd64", Next: []string{"4.2.0", "4.1.1"}}, payload("4.1.1", "4.1.0"), payload("4.2.0")},
			[]string{"4.1.0 -> 4.1.1", "4.1.0 -> 4.2.0"}},
		{"a release of another channel", nil, []Release{payload("4.0.1"), payload("4.1.1", "4.0.1")}, nil},
		{"a release of another architecture", nil, []Release{{Version: "4.1.0", Arch: "arm64"}, payload("4.1.1", "4.1.0")}, nil},
		{"added by metadata", map[string]string{"raw/metadata.json": `{"4.1.1":{"io.openshift.upgrades.graph.previous.add":"4.1.0, 4.0.0"},"4.1.10":{"io.openshift.upgrades.graph.next.add":"4.2.0"}}`},
			[]Release{payload("4.1.0"), payload("4.1.1"), payload("4.1.10"), payload("4.2.0")}, []string{"4.1.0 -> 4.1.1", "4.1.10 -> 4.2.0"}},
		{"removed by metadata", map[string]string{"raw/metadata.json": `{"4.1.1":{"io.openshift.upgrades.graph.previous.remove":"*"},"4.2.0":{"io.openshift.upgrades.graph.previous.remove":"4.1.1"},"4.1.10":{"io.openshift.upgrades.graph.next.remove":"4.2.0"}}`},
			[]Release{payload("4.1.0"), payload("4.1.1", "4.1.0"), payload("4.1.10", "4.1.0"), payload("4.2.0", "4.1.0", "4.1.1", "4.1.10")}, []string{"4.1.0 -> 4.1.10", "4.1.0 -> 4.2.0"}},
		{"blocked for all", map[string]string{"blocked-edges/a.yaml": "to: 4.2.0\nfrom: 4[.]1[.]1[+]"},
			[]Release{payload("4.1.1"), payload("4.1.10"), payload("4.2.0", "4.1.1", "4.1.10")}, []string{"4.1.10 -> 4.2.0"}},
		{"the regular expression has no anchors", map[string]string{"blocked-edges/a.yaml": `to: 4.2.0
from: 4[.]1[.]1`},
			[]Release{payload("4.1.1"), payload("4.1.10"), payload("4.2.0", "4.1.1", "4.1.10")}, nil},
		{"it sees the architecture", map[string]string{"blocked-edges/a.yaml": "to: 4.2.0\nfrom: ^4[.]1[.]1[+]arm64$", "blocked-edges/b.yaml": named("R", "4.2.0", "^4[.]1[.]10[+]amd64$")},
			[]Release{payload("4.1.1"), payload("4.1.10"), payload("4.2.0", "4.1.1", "4.1.10")}, []string{"4.1.1 -> 4.2.0", "4.1.10 -> 4.2.0 (R)"}},
		{"a target of another architecture", map[string]string{"blocked-edges/a.yaml": "to: 4.2.0+arm64\nfrom: .*", "blocked-edges/b.yaml": named("R", "4.2.0+amd64", "4.1.10")},
			[]Release{payload("4.1.1"), payload("4.1.10"), payload("4.2.0", "4.1.1", "4.1.10")}, []string{"4.1.1 -> 4.2.0", "4.1.10 -> 4.2.0 (R)"}},
		{"the later block replaces", map[string]string{"blocked-edges/a.yaml": "to: 4.2.0\nfrom: 4.1.10", "blocked-edges/b.yaml": "to: 4.2.0\nfrom: 4[.]1[.]1[+]"},
			[]Release{payload("4.1.1"), payload("4.1.10"), payload("4.2.0", "4.1.1", "4.1.10")}, []string{"4.1.10 -> 4.2.0"}},
		{"several risks", map[string]string{"blocked-edges/b.yaml": named("B", "4.2.0", "4.1.1"), "blocked-edges/a.yaml": named("A", "4.2.0", "4.1.10")},
			[]Release{payload("4.1.0"), payload("4.1.1"), payload("4.1.10"), payload("4.2.0", "4.1.0", "4.1.1", "4.1.10")}, []string{"4.1.0 -> 4.2.0", "4.1.1 -> 4.2.0 (B)", "4.1.10 -> 4.2.0 (A, B)"}},
		{"a risk of a missing update", map[string]string{"blocked-edges/a.yaml": named("A", "4.2.0", ".*")},
			[]Release{payload("4.1.0"), payload("4.1.1"), payload("4.2.0", "4.1.1")}, []string{"4.1.1 -> 4.2.0 (A)"}},
		// Conditions are computed before removals, including plain blocks.
		{"a block and a risk", map[string]string{"blocked-edges/a.yaml": named("A", "4.2.0", "4.1.1"), "blocked-edges/b.yaml": "to: 4.2.0\nfrom: .*"},
			[]Release{payload("4.1.0"), payload("4.1.1"), payload("4.2.0", "4.1.0", "4.1.1")}, []string{"4.1.1 -> 4.2.0 (A)"}},
		{"an image's own metadata", nil, []Release{payload("4.1.0"), {Version: "4.1.1", Arch: "amd64", Previous: []string{"4.1.0"}, Metadata: map[string]string{regexGone: "4[.]1[.]0"}}}, nil},
		// Clients ignore it, and the plain update is removed, too.
		{"a rule of an unknown type", map[string]string{"blocked-edges/a.yaml": strings.Replace(risk("4.1.1", ".*"), "Always", "Never", 1)},
			[]Release{payload("4.1.0"), payload("4.1.1", "4.1.0")}, nil},
	} {
		files := map[string]string{"channels/stable-4.2.yaml": "name: stable-4.2\nversions: " + all}
		maps.Copy(files, test.files)
		d := mustRead(t, small(files))
		for range 2 { // in both orders
			g, err := d.Graph(test.releases, "stable-4.2", "amd64")
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			fail.Diff(t, test.want, drawn(g))
			slices.Reverse(test.releases)
		}
	}
}

func TestGraphMetadata(t *testing.T) {
	d := mustRead(t, small(map[string]string{
		"channels/stable-4.10.yaml":  "name: stable-4.10\nversions: [4.2.0]",
		"channels/candidate-4.yaml":  "name: candidate-4.2\nversions: [4.2.0]",
		"channels/x.yaml":            "name: eus-4.2\nversions: [4.2.0+amd64]",
		"blocked-edges/1.yaml":       named("A", "4.2.0", "a|b"),
		"blocked-edges/2.yaml":       "to: 4.2.0\nfrom: c",
		"blocked-edges/3-Other.yaml": named("B", "4.2.0", "d"),
		"raw/metadata.json":          `{"4.2.0":{"x":"2","y":"3"}}`,
	}))
	r := Release{
		Version: "4.2.0", Arch: release.Multi, Payload: "example.com/release@sha256:abc",
		Metadata: map[string]string{"url": "https://example.com/errata", "x": "1", "release.openshift.io/architecture": "multi", archKey: "multi"},
	}
	g, err := d.Graph([]Release{r}, "stable-4.10", release.Multi)
	fail.On(t, err)
	n := g.Nodes[0]
	want := map[string]string{
		"url": "https://example.com/errata", "x": "1,2", "y": "3", "release.openshift.io/architecture": "multi",
		graph.ChannelsKey: "stable-4.10,candidate-4.2,stable-4.2", graph.ManifestKey: "sha256:abc", regexGone: "c|a|b|d",
	}
	fail.Diff(t, want, n.Metadata)
	if n.Payload != r.Payload || n.URL != "https://example.com/errata" || n.Arch != release.Multi || len(n.Channels) != 3 {
		t.Errorf("the node is %+v", n)
	}
	if _, ok := r.Metadata[graph.ChannelsKey]; ok {
		t.Error("the release was changed")
	}
}

func TestGraphWrong(t *testing.T) {
	d := mustRead(t, small(nil))
	for name, test := range map[string]struct {
		releases []Release
		channel  string
		want     string
	}{
		"channel": {nil, "stabel-4.2", `no channel "stabel-4.2"; did you mean "stable-4.2"?`},
		"version": {[]Release{payload("4.2")}, "stable-4.2", `release 4.2-x86_64: "4.2" is not a semantic version`},
		"twice":   {[]Release{payload("4.2.0"), payload("4.2.0")}, "stable-4.2", "release 4.2.0-x86_64: duplicate release"},
		"regular expression": {[]Release{{Version: "4.2.0", Arch: "amd64", Metadata: map[string]string{regexGone: "("}}}, "stable-4.2",
			"making the graph of stable-4.2 for amd64: updates to 4.2.0: io.openshift.upgrades.graph.previous.remove_regex: error parsing"},
		"itself": {[]Release{payload("4.2.0", "4.2.0")}, "stable-4.2", "to itself"},
	} {
		if _, err := d.Graph(test.releases, test.channel, "amd64"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, test.want)
		}
	}
}
