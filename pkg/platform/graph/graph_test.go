package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/release"
)

func nodes(versions ...string) []Node {
	out := make([]Node, len(versions))
	for i, v := range versions {
		out[i] = Node{Version: semver.MustParse(v), Payload: "example.com/release@sha256:" + v}
	}
	return out
}

// edges lists a graph's edges: "4.1.0>4.1.1", and the names of the risks.
func edges(g *Graph) []string {
	var out []string
	for i, n := range g.Nodes {
		for _, e := range g.From(i) {
			s := fmt.Sprintf("%s>%s", n.Version, g.Nodes[e.To].Version)
			for _, r := range g.Risks(e) {
				s += " " + r.Name
				for _, rule := range r.Rules {
					s += ":" + rule.Type
				}
			}
			out = append(out, s)
		}
	}
	return out
}

func TestNew(t *testing.T) {
	always := Risk{Name: "Always", Rules: []Rule{{Type: Always}}}
	query := Risk{Name: "Query", Rules: []Rule{{Type: PromQL, PromQL: "up"}}}
	unknown := Rule{Type: "Weather"}
	pair := func(s string) Pair {
		from, to, _ := strings.Cut(s, ">")
		return Pair{from, to}
	}
	conditional := func(p string, risks ...Risk) Conditional { return Conditional{[]Pair{pair(p)}, risks} }
	for name, tt := range map[string]struct {
		plain       [][2]int // of 1.0.2, 1.0.0, 1.0.1
		conditional []Conditional
		want        []string
		err         string
	}{
		"nothing":              {},
		"sorted":               {plain: [][2]int{{2, 0}, {1, 0}, {1, 2}}, want: []string{"1.0.0>1.0.1", "1.0.0>1.0.2", "1.0.1>1.0.2"}},
		"told twice":           {plain: [][2]int{{1, 2}, {1, 2}}, want: []string{"1.0.0>1.0.1"}},
		"downwards":            {plain: [][2]int{{0, 1}}, want: []string{"1.0.2>1.0.0"}},
		"conditional":          {conditional: []Conditional{conditional("1.0.0>1.0.1", always, query)}, want: []string{"1.0.0>1.0.1 Always:Always Query:PromQL"}},
		"conditional wins":     {plain: [][2]int{{1, 2}, {1, 0}}, conditional: []Conditional{conditional("1.0.0>1.0.1", query)}, want: []string{"1.0.0>1.0.1 Query:PromQL", "1.0.0>1.0.2"}},
		"unknown rule":         {conditional: []Conditional{conditional("1.0.0>1.0.1", Risk{Name: "R", Rules: []Rule{unknown, {Type: Always}}})}, want: []string{"1.0.0>1.0.1 R:Always"}},
		"only unknown rules":   {plain: [][2]int{{1, 2}}, conditional: []Conditional{conditional("1.0.0>1.0.1", always, Risk{Name: "R", Rules: []Rule{unknown}})}},
		"PromQL without query": {conditional: []Conditional{conditional("1.0.0>1.0.1", Risk{Name: "R", Rules: []Rule{{Type: PromQL}}})}},
		"Always with a query":  {conditional: []Conditional{conditional("1.0.0>1.0.1", Risk{Name: "R", Rules: []Rule{{Type: Always, PromQL: "up"}}})}},
		"no risk":              {plain: [][2]int{{1, 2}}, conditional: []Conditional{conditional("1.0.0>1.0.1")}},
		"two groups":           {plain: [][2]int{{1, 2}}, conditional: []Conditional{conditional("1.0.0>1.0.1", query), conditional("1.0.0>1.0.1", always), conditional("1.0.1>1.0.2", query)}, want: []string{"1.0.1>1.0.2 Query:PromQL"}},
		"twice in a group":     {conditional: []Conditional{{[]Pair{pair("1.0.0>1.0.1"), pair("1.0.0>1.0.1")}, []Risk{query}}}},
		"two groups, one of them pruned": {
			conditional: []Conditional{conditional("1.0.0>1.0.1", query), conditional("1.0.0>1.0.1", Risk{Name: "R", Rules: []Rule{unknown}})},
			want:        []string{"1.0.0>1.0.1 Query:PromQL"},
		},
		"from an absent version": {conditional: []Conditional{conditional("0.9.0>1.0.1", query)}},
		"to an absent version":   {conditional: []Conditional{conditional("1.0.0>1.0.3", query)}, err: `from "1.0.0" leads to "1.0.3"`},
		"to nowhere":             {plain: [][2]int{{1, 2}, {0, 3}}, err: "edge 1 leads from node 0 to node 3, and there are 3 nodes"},
		"from nowhere":           {plain: [][2]int{{-1, 2}}, err: "from node -1"},
		"to itself":              {plain: [][2]int{{2, 2}}, err: "from 1.0.1 to itself"},
		"conditional to itself":  {conditional: []Conditional{conditional("1.0.1>1.0.1", query)}, err: "1.0.1 leads to itself"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := New(nodes("1.0.2", "1.0.0", "1.0.1"), tt.plain, tt.conditional)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			fail.On(t, err)
			fail.Diff(t, tt.want, edges(g))
		})
	}
}

func TestNewVersions(t *testing.T) {
	if _, err := New(nodes("1.0.0", "1.1.0", "1.0.0"), nil, nil); err == nil || !strings.Contains(err.Error(), "1.0.0 occurs twice") {
		t.Errorf("a version that occurs twice: %v", err)
	}
	g, err := New(nodes("1.10.0", "1.2.0", "1.10.0-rc.1", "1.10.0+b", "1.10.0+a"), nil, nil)
	fail.On(t, err)
	want := []string{"1.2.0", "1.10.0-rc.1", "1.10.0", "1.10.0+a", "1.10.0+b"}
	for i, v := range want {
		if at, ok := g.Find(semver.MustParse(v)); !ok || at != i {
			t.Errorf("Find(%s) = %d, %v, want %d", v, at, ok, i)
		}
	}
	if _, ok := g.Find(semver.MustParse("1.3.0")); ok {
		t.Error("1.3.0 is found and is not there")
	}
}

// TestGroups checks that equal risks are stored once, and that the order of the response does not
// matter.
func TestGroups(t *testing.T) {
	risk := func(name string) []Risk { return []Risk{{Name: name, Rules: []Rule{{Type: Always}}}} }
	groups := []Conditional{
		{[]Pair{{"1.0.1", "1.0.2"}}, risk("B")},
		{[]Pair{{"1.0.0", "1.0.2"}}, risk("A")},
		{[]Pair{{"1.0.0", "1.0.1"}}, risk("B")},
	}
	g, err := New(nodes("1.0.0", "1.0.1", "1.0.2"), nil, groups)
	fail.On(t, err)
	fail.Diff(t, [][]Risk{risk("B"), risk("A")}, g.groups)
	slices.Reverse(groups)
	other, err := New(nodes("1.0.2", "1.0.1", "1.0.0"), nil, groups)
	fail.On(t, err)
	fail.Diff(t, g, other, cmp.AllowUnexported(Graph{}))
}

func TestMetadata(t *testing.T) {
	n := nodes("1.0.0")
	n[0].Metadata = map[string]string{URLKey: "https://example.com/errata", ChannelsKey: "eus-4.20, stable-4.20,", ArchKey: "multi"}
	g, err := New(n, nil, nil)
	fail.On(t, err)
	got := g.Nodes[0]
	got.Metadata, got.Payload = nil, ""
	want := Node{Version: semver.MustParse("1.0.0"), URL: "https://example.com/errata", Channels: []string{"eus-4.20", "stable-4.20"}, Arch: release.Multi}
	fail.Diff(t, want, got)
}

func TestAlways(t *testing.T) {
	for _, tt := range []struct {
		rules []Rule
		want  bool
	}{
		{nil, false},
		{[]Rule{{Type: Always}}, true},
		{[]Rule{{Type: PromQL, PromQL: "up"}}, false},
		{[]Rule{{Type: PromQL, PromQL: "up"}, {Type: Always}}, false},
	} {
		if got := (Risk{Rules: tt.rules}).Always(); got != tt.want {
			t.Errorf("Always of %v = %v", tt.rules, got)
		}
	}
}
