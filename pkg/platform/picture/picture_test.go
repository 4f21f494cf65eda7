package picture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/path"
)

// made returns a graph of updates such as "4.18.1>4.18.2" and, with the names of risks,
// "4.18.1>4.19.1 RiskA RiskB"; a name with "!" applies to every cluster.
func made(t testing.TB, updates ...string) *graph.Graph {
	t.Helper()
	index := map[string]int{}
	var (
		nodes       []graph.Node
		plain       [][2]int
		conditional []graph.Conditional
	)
	at := func(version string) int {
		if _, ok := index[version]; !ok {
			index[version] = len(nodes)
			nodes = append(nodes, graph.Node{Version: semver.MustParse(version), Metadata: map[string]string{graph.URLKey: "https://errata.example.com/" + version}})
		}
		return index[version]
	}
	for _, u := range updates {
		words := strings.Fields(u)
		from, to, _ := strings.Cut(words[0], ">")
		if to == "" {
			at(from)
			continue
		}
		pair := [2]int{at(from), at(to)}
		if len(words) == 1 {
			plain = append(plain, pair)
			continue
		}
		c := graph.Conditional{Pairs: []graph.Pair{{From: from, To: to}}}
		for _, name := range words[1:] {
			rule := graph.Rule{Type: graph.PromQL, PromQL: "up"}
			if strings.HasSuffix(name, "!") {
				rule = graph.Rule{Type: graph.Always}
			}
			c.Risks = append(c.Risks, graph.Risk{Name: strings.TrimSuffix(name, "!"), Message: "Something breaks.", URL: "https://example.com/" + name, Rules: []graph.Rule{rule}})
		}
		conditional = append(conditional, c)
	}
	g, err := graph.New(nodes, plain, conditional)
	fail.On(t, err)
	return g
}

// chain returns the updates of a minor version with n releases that each update to all later
// ones.
func chain(minor, releases int) []string {
	var updates []string
	for to := range releases {
		for from := range to {
			updates = append(updates, fmt.Sprintf("4.%d.%d>4.%[1]d.%[3]d", minor, from, to))
		}
	}
	return updates
}

func text(t testing.TB, d diagram.Drawing) string {
	t.Helper()
	var out bytes.Buffer
	fail.On(t, diagram.Write(&out, d, diagram.Text))
	return out.String()
}

func found(t testing.TB, g *graph.Graph, from, to string) []path.Path {
	t.Helper()
	paths, err := path.Find(g, []semver.Version{semver.MustParse(from)}, semver.MustParse(to), path.Policy{AllowAlways: true})
	fail.On(t, err)
	return paths
}

func TestSmall(t *testing.T) {
	g := made(t, "4.18.1>4.18.2", "4.18.1>4.19.1 Pools", "4.18.2>4.19.1 Pools", "4.18.1>4.19.2", "4.18.2>4.19.2", "4.19.1>4.19.2", "4.19.1>4.20.1 Slow!", "4.19.2>4.20.1")
	want := `stable-4.20
5 releases and 8 updates, 3 of them conditional.
Path: 4.18.1 -> 4.19.2 -> 4.20.1. 2 hops, no risks.

4.18.1 to 4.20.1
4.18: 2 releases, 4.18.1 to 4.18.2
4.19: 2 releases, 4.19.1 to 4.19.2
4.20: 1 release, 4.20.1
  o 4.20.1    from 2 releases, 1 with risks  target, on the path  from 4.19.2
  o 4.19.2    from 3 releases                newest, on the path  from 4.18.1, 4.18.2, 4.19.1
  | o 4.19.1  from 2 releases, with risks                         conditional Pools (4.18.2)
  | o 4.18.2  from 1 release                 newest               from 4.18.1
  o 4.18.1                                   start, on the path
`
	fail.Diff(t, want, text(t, Draw(g, Options{Title: "stable-4.20", Paths: found(t, g, "4.18.1", "4.20.1")})))
}

func TestFold(t *testing.T) {
	updates := slices.Concat(chain(18, 12), chain(19, 12), []string{
		"4.18.11>4.19.11",
		"4.18.3>4.19.4 Pools Disks!", // the only path from 4.18.3 and to 4.19.4
		"4.17.1>4.18.0 Pools",        // before everything else
		"4.17.0",                     // has no updates
	})
	for i := range 5 { // only updates with risks lead on from these releases
		updates = slices.DeleteFunc(updates, func(u string) bool {
			return strings.HasPrefix(u, fmt.Sprintf("4.18.%d>", i+4)) && !strings.HasSuffix(u, ">4.18.8")
		})
	}
	updates = slices.DeleteFunc(updates, func(u string) bool { return strings.HasPrefix(u, "4.18.8>") })
	updates = append(updates, "4.18.8>4.18.9 Disks")
	g := made(t, updates...)
	d := Draw(g, Options{Title: "stable-4.19"})
	var got []string
	for _, n := range d.Graphs[0].Nodes {
		got = append(got, fmt.Sprintf("%s: %s: %s", n.Label, n.Detail, strings.Join(n.Marks, ", ")))
	}
	want := []string{
		"4.17.0: : dead end",
		"4.17.1: : risks ahead, newest",
		"4.18.0 to 4.18.3: 4 releases: folded",
		"4.18.4 to 4.18.8: 5 releases: risks ahead, folded",
		"4.18.9 to 4.18.10: 2 releases: folded",
		"4.18.11: from 6 releases: newest",
		"4.19.0 to 4.19.10: 11 releases: folded",
		"4.19.11: from 12 releases: head",
	}
	fail.Diff(t, want, got)
	got = nil
	for _, e := range d.Graphs[0].Edges {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.To, e.Kind, e.From, e.Label)))
	}
	want = []string{
		"4.18.0 conditional 4.17.1 Pools",
		"4.18.4 from 4.18.0",
		"4.18.9 from 4.18.0",
		"4.19.0 conditional 4.18.0 2 risks",
		"4.18.9 conditional 4.18.4 Disks",
		"4.18.11 from 4.18.9",
		"4.19.11 from 4.18.11",
		"4.19.11 from 4.19.0",
	}
	fail.Diff(t, want, got)
	fail.Diff(t, len(g.Nodes), len(Draw(g, Options{All: true}).Graphs[0].Nodes))
}

func TestPart(t *testing.T) {
	g := made(t, "4.1.1>4.1.2", "4.1.2>4.1.3", "4.1.2>4.1.4 Risk", "4.1.3>4.1.5", "4.1.4>4.1.5", "4.1.0>4.1.5", "4.1.5>4.1.6")
	for _, tc := range []struct{ from, to, want string }{
		{"", "", "4.1.0 4.1.1 4.1.2 4.1.3 4.1.4 4.1.5 4.1.6"},
		{"4.1.2", "", "4.1.2 4.1.3 4.1.4 4.1.5 4.1.6"},
		{"", "4.1.4", "4.1.1 4.1.2 4.1.4"},
		{"4.1.2", "4.1.5", "4.1.2 4.1.3 4.1.4 4.1.5"},
		{"4.1.0", "4.1.5", "4.1.0 4.1.5"},
		{"4.1.3", "4.1.3", "4.1.3"},
		{"4.1.3", "4.1.4", ""},
		{"4.1.3 4.1.4", "4.1.5", "4.1.3 4.1.4 4.1.5"},
	} {
		at := func(version string) int {
			if version == "" {
				return -1
			}
			i, _ := g.Find(semver.MustParse(version))
			return i
		}
		var begins []int
		for v := range strings.FieldsSeq(tc.from) {
			begins = append(begins, at(v))
		}
		part := Part(g, begins, at(tc.to))
		got := elements.Map(part.Nodes, func(n graph.Node) string { return n.Version.String() })
		if strings.Join(got, " ") != tc.want {
			t.Errorf("from %q to %q: %v, want %s", tc.from, tc.to, got, tc.want)
		}
	}
}

// TestOdd checks that an empty graph, and a graph with only a part of the path, can be drawn.
func TestOdd(t *testing.T) {
	fail.Diff(t, "nothing\n0 releases and 0 updates.\n", text(t, Draw(made(t), Options{Title: "nothing"})))
	g := made(t, "4.1.1>4.1.2", "4.1.2>4.1.3")
	p := found(t, g, "4.1.1", "4.1.3")
	part := g.Keep(func(n graph.Node) bool { return n.Version.Patch != 2 })
	if d := Draw(part, Options{Paths: p}); len(d.Graphs[0].Nodes) != 2 || len(d.Graphs[0].Edges) != 0 {
		t.Errorf("got %+v", d.Graphs[0])
	}
	down := made(t, "4.1.2>4.1.1", "4.1.1>4.1.3")
	if d := Draw(down, Options{}); len(d.Graphs[0].Edges) != 2 {
		t.Errorf("an update that goes down is not drawn: %+v", d.Graphs[0].Edges)
	}
}

// checkDrawing compares a drawing with its graph: each release is in one box; if one release leads
// to another in the graph, it also does in the drawing, and over solid lines if it does so without
// risks; each line stands for updates of its kind; the path is drawn.
func checkDrawing(t *testing.T, g *graph.Graph, o Options) {
	t.Helper()
	d := Draw(g, o)
	box := map[string]string{}
	for _, n := range d.Graphs[0].Nodes {
		names := n.Names
		if len(names) == 0 {
			names = []string{n.ID}
		}
		for _, name := range names {
			if box[name] != "" {
				t.Errorf("%s is in two boxes", name)
			}
			box[name] = n.ID
		}
	}
	type pair struct{ from, to string }
	solid, drawn := map[pair]bool{}, map[pair]bool{}
	for _, e := range d.Graphs[0].Edges {
		solid[pair{e.From, e.To}] = e.Kind == update
		drawn[pair{e.From, e.To}] = true
	}
	plain, there := map[pair]bool{}, map[pair]bool{}
	for i, n := range g.Nodes {
		if box[n.Version.String()] == "" {
			t.Fatalf("%s is in no box", n.Version)
		}
		for _, e := range g.From(i) {
			p := pair{box[n.Version.String()], box[g.Nodes[e.To].Version.String()]}
			there[p] = true
			plain[p] = plain[p] || e.Group < 0
		}
	}
	for p := range drawn {
		if !there[p] || plain[p] != solid[p] {
			t.Errorf("the line from %s to %s stands for nothing, or for something else", p.from, p.to)
		}
	}
	// The number of boxes is small enough for a simple closure.
	closure := func(direct map[pair]bool) map[pair]bool {
		all := map[pair]bool{}
		for p, ok := range direct {
			if ok {
				all[p] = true
			}
		}
		for _, k := range d.Graphs[0].Nodes {
			for _, i := range d.Graphs[0].Nodes {
				for _, j := range d.Graphs[0].Nodes {
					if all[pair{i.ID, k.ID}] && all[pair{k.ID, j.ID}] {
						all[pair{i.ID, j.ID}] = true
					}
				}
			}
		}
		return all
	}
	overSolid, overAny := closure(solid), closure(drawn)
	for p := range there {
		if p.from != p.to && (!overAny[p] || plain[p] && !overSolid[p]) {
			t.Errorf("the drawing does not lead from %s to %s", p.from, p.to)
		}
	}
	for _, p := range o.Paths {
		for _, h := range p.Hops {
			if p := (pair{h.From.String(), h.To.String()}); !drawn[p] {
				t.Errorf("the hop from %s to %s is not drawn", p.from, p.to)
			}
		}
	}
}

func TestTruthful(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		var versions, updates []string
		for minor := range 1 + r.IntN(3) {
			for patch := range 1 + r.IntN(16) {
				versions = append(versions, fmt.Sprintf("4.%d.%d", minor, patch))
			}
		}
		for to := range versions {
			updates = append(updates, versions[to])
			for from := range to {
				switch r.IntN(6) {
				case 0:
					updates = append(updates, versions[from]+">"+versions[to])
				case 1:
					updates = append(updates, versions[from]+">"+versions[to]+fmt.Sprintf(" Risk%d", r.IntN(3)))
				}
			}
		}
		g := made(t, updates...)
		checkDrawing(t, g, Options{})
		checkDrawing(t, g, Options{All: true})
		from := semver.MustParse(versions[r.IntN(len(versions))])
		if paths, err := path.Find(g, []semver.Version{from}, g.Nodes[g.Head()].Version, path.Policy{}); err == nil {
			checkDrawing(t, g, Options{Paths: paths})
		}
	}
}

// TestSeveralPaths checks that the paths of several installed releases are marked in one drawing.
func TestSeveralPaths(t *testing.T) {
	g := made(t, "4.18.1>4.19.1 Pools Disks", "4.18.2>4.19.1", "4.19.1>4.20.1", "4.18.1>4.18.2 Pools")
	paths, err := path.Find(g, []semver.Version{semver.MustParse("4.18.1"), semver.MustParse("4.18.2")}, semver.MustParse("4.20.1"), path.Policy{})
	fail.On(t, err)
	want := `fast-4.20
4 releases and 4 updates, 2 of them conditional.
Path: 4.18.1 -> 4.18.2 -> 4.19.1 -> 4.20.1. 3 hops, 1 risk: Pools.
Path: 4.18.2 -> 4.19.1 -> 4.20.1. 2 hops, no risks.

4.18.1 to 4.20.1
4.18: 2 releases, 4.18.1 to 4.18.2
4.19: 1 release, 4.19.1
4.20: 1 release, 4.20.1
  o 4.20.1    from 1 release                 target, on the path              from 4.19.1
  o 4.19.1    from 2 releases, 1 with risks  newest, on the path              from 4.18.2
  o 4.18.2    from 1 release, with risks     newest, start, on the path       conditional Pools (4.18.1)
  | o 4.18.1                                 start, on the path, risks ahead
`
	fail.Diff(t, want, text(t, Draw(g, Options{Title: "fast-4.20", Paths: paths})))
}
