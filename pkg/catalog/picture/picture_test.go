package picture_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/picture"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

var update = flag.Bool("update", false, "write the golden files")

func etcd(t testing.TB) *catalog.Package {
	t.Helper()
	root := t.TempDir()
	text, err := os.ReadFile("testdata/catalog.yaml")
	fail.On(t, err)
	fail.On(t, os.WriteFile(filepath.Join(root, "catalog.yaml"), text, 0o600))
	c, err := catalog.Read(t.Context(), os.DirFS(root), catalog.Options{})
	fail.On(t, err)
	return c.Package("etcd")
}

// keeping returns the package with some entries of the channel stable only.
func keeping(p *catalog.Package, names ...string) *catalog.Package {
	kept := &catalog.Package{Name: p.Name, DefaultChannel: "stable"}
	stable := *p.Channel("stable")
	stable.Entries = slices.DeleteFunc(slices.Clone(stable.Entries), func(e catalog.Entry) bool { return !slices.Contains(names, e.Name) })
	kept.Channels = []*catalog.Channel{&stable}
	kept.Bundles = append(kept.Bundles, elements.Map(names, p.Bundle)...)
	return kept
}

func draw(t testing.TB, p *catalog.Package, o picture.Options) diagram.Drawing {
	t.Helper()
	d, err := picture.Draw(p, o)
	fail.On(t, err)
	return d
}

func TestGolden(t *testing.T) {
	p := etcd(t)
	for name, o := range map[string]picture.Options{
		"all": {},
		"kept": {
			Kept: keeping(p, "etcd.v1.0.1", "etcd.v1.1.1"),
			Account: &filter.Package{Channels: []filter.Channel{{Name: "stable", Entries: []filter.Entry{
				{Name: "etcd.v1.0.1", Reason: filter.Continuity, For: "etcd.v1.1.1"}, {Name: "etcd.v1.1.1", Reason: filter.Range},
			}}}},
			Installed: []graph.At{
				{Name: "etcd.v0.8.1", Version: semver.MustParse("0.8.1")}, {Version: semver.MustParse("1.0.0")},
				{Name: "etcd.v0.7.5", Version: semver.MustParse("0.7.5")}, {Name: "etcd.v0.1.0", Version: semver.MustParse("0.1.0")},
			},
			Channels: []string{"stable"},
		},
		"nothing": {Kept: &catalog.Package{Name: "etcd"}, Channels: []string{"alpha", "alpha"}},
	} {
		for _, form := range []diagram.Form{diagram.Text, diagram.JSON, diagram.SVG} {
			t.Run(fmt.Sprintf("%s/%s", name, form), func(t *testing.T) {
				var out bytes.Buffer
				fail.On(t, diagram.Write(&out, draw(t, p, o), form))
				golden := filepath.Join("testdata", name+"."+string(form))
				if *update {
					fail.On(t, os.WriteFile(golden, out.Bytes(), 0o600))
				}
				want, err := os.ReadFile(golden)
				fail.On(t, err)
				fail.Diff(t, string(want), out.String())
			})
		}
	}
}

func TestUnknownChannel(t *testing.T) {
	p := etcd(t)
	for name, want := range map[string]string{
		"stabel": `package etcd has no channel "stabel"; did you mean stable?`,
		"zzz":    `package etcd has no channel "zzz"; it has alpha, broken, stable`,
	} {
		if _, err := picture.Draw(p, picture.Options{Channels: []string{name}}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A head that skips everything, as some publishers write them, is a frame and one line, and
// thousands of names that do not exist are one node.
func TestManySkips(t *testing.T) {
	entry := catalog.Entry{Name: "foo.v2.0.0", SkipRange: "<2.0.0"}
	p := &catalog.Package{Name: "foo", DefaultChannel: "stable"}
	c := &catalog.Channel{Package: "foo", Name: "stable"}
	for i := range 40 {
		name := fmt.Sprintf("foo.v1.%d.0", i)
		p.Bundles = append(p.Bundles, &catalog.Bundle{Package: "foo", Name: name, Version: semver.Version{Major: 1, Minor: uint64(i)}})
		older := slices.Clone(entry.Skips)
		entry.Skips = append(entry.Skips, name)
		c.Entries = append(c.Entries, catalog.Entry{Name: name, Skips: older})
	}
	for i := range 18195 {
		entry.Skips = append(entry.Skips, fmt.Sprintf("foo.v0.%d.0", i))
	}
	c.Entries = append(c.Entries, entry)
	p.Bundles = append(p.Bundles, &catalog.Bundle{Package: "foo", Name: entry.Name, Version: semver.MustParse("2.0.0")})
	p.Channels = []*catalog.Channel{c}

	d := draw(t, p, picture.Options{})
	g := d.Graphs[0]
	if len(g.Nodes) != 42 || len(g.Nodes[0].Names) != 18195 || g.Nodes[0].Label != "18,195 bundles" {
		t.Errorf("got %d nodes, the first is %s for %d names", len(g.Nodes), g.Nodes[0].Label, len(g.Nodes[0].Names))
	}
	drawn := 0
	for _, e := range g.Edges {
		if !e.Folded {
			drawn++
			if e.To != entry.Name || e.Kind != "skips" {
				t.Errorf("drawn: %+v", e)
			}
		}
	}
	fail.Diff(t, 41, drawn)
	var svg bytes.Buffer
	fail.On(t, diagram.Write(&svg, d, diagram.SVG))
	if n := strings.Count(svg.String(), `class="edge dash"`); n != 2 { // and the legend's
		t.Errorf("the picture has %d lines", n)
	}
}

// A skipRange over a whole chain adds no line, but a note at the head.
func TestSkipRangeOverChain(t *testing.T) {
	p := &catalog.Package{Name: "foo", DefaultChannel: "stable"}
	c := &catalog.Channel{Package: "foo", Name: "stable"}
	for i := range 41 {
		e := catalog.Entry{Name: fmt.Sprintf("foo.v1.%d.0", i), SkipRange: fmt.Sprintf("<1.%d.0", i)}
		if i > 0 {
			e.Replaces = fmt.Sprintf("foo.v1.%d.0", i-1)
		}
		p.Bundles = append(p.Bundles, &catalog.Bundle{Package: "foo", Name: e.Name, Version: semver.Version{Major: 1, Minor: uint64(i)}})
		c.Entries = append(c.Entries, e)
	}
	p.Channels = []*catalog.Channel{c}
	g := draw(t, p, picture.Options{}).Graphs[0]
	for _, e := range g.Edges {
		if e.Folded != (e.Kind == "skipRange") {
			t.Errorf("got %+v", e)
		}
	}
	if last := g.Nodes[40]; last.Note != "directly from 39 more" || g.Nodes[39].Note != "" {
		t.Errorf("got %+v", last)
	}
	if want := 40 + 40*41/2; len(g.Edges) != want {
		t.Errorf("there are %d edges, not %d", len(g.Edges), want)
	}
}

// The drawing of a very large channel is limited, and lists what it omits.
func TestHugeChannel(t *testing.T) {
	p := &catalog.Package{Name: "foo", DefaultChannel: "stable"}
	c := &catalog.Channel{Package: "foo", Name: "stable"}
	const n = 3000
	for i := range n {
		e := catalog.Entry{Name: fmt.Sprintf("foo.v1.%d.0", i), SkipRange: "<2.0.0"}
		if i > 0 {
			e.Replaces = fmt.Sprintf("foo.v1.%d.0", i-1)
		}
		p.Bundles = append(p.Bundles, &catalog.Bundle{Package: "foo", Name: e.Name, Version: semver.Version{Major: 1, Minor: uint64(i)}})
		c.Entries = append(c.Entries, e)
	}
	p.Channels = []*catalog.Channel{c}
	g := draw(t, p, picture.Options{}).Graphs[0]
	notes := strings.Join(g.Notes, "\n")
	if len(g.Edges) > 210_000 || !strings.Contains(notes, "1,667 skipRanges were ignored") || !strings.Contains(notes, "edges of skipRanges are not listed") {
		t.Errorf("got %d edges and %s", len(g.Edges), notes)
	}
}

// Releases are ordered as OLM v1 orders them, not as text.
func TestReleasesStandInTheirOrder(t *testing.T) {
	p := &catalog.Package{Name: "p", DefaultChannel: "stable"}
	c := &catalog.Channel{Package: "p", Name: "stable"}
	for _, b := range []struct{ name, version, release string }{
		{"a", "1.0.0", "10"}, {"b", "1.0.0", "9"}, {"c", "1.0.0", ""}, {"d", "1.0.0+11", ""},
	} {
		p.Bundles = append(p.Bundles, &catalog.Bundle{Package: "p", Name: b.name, Version: semver.MustParse(b.version), Release: b.release})
		c.Entries = append(c.Entries, catalog.Entry{Name: b.name})
	}
	p.Channels = []*catalog.Channel{c}
	got := elements.Map(draw(t, p, picture.Options{}).Graphs[0].Nodes, func(n diagram.Node) string { return n.ID })
	fail.Diff(t, []string{"c", "b", "a", "d"}, got)
}

// Channels share most of their bundles. Each is drawn once, and heads in each of their channels.
func TestSharedBundlesAreDrawnOnce(t *testing.T) {
	p := &catalog.Package{Name: "foo", DefaultChannel: "v1.3"}
	for i := range 4 {
		c := &catalog.Channel{Name: fmt.Sprintf("v1.%d", i)}
		for j := range (i + 1) * 3 {
			e := catalog.Entry{Name: fmt.Sprintf("foo.v1.%d.%d", j/3, j%3)}
			if j > 0 {
				e.Replaces = c.Entries[j-1].Name
			} else {
				e.Replaces = "foo.v0.9.0"
			}
			c.Entries = append(c.Entries, e)
		}
		p.Channels = append(p.Channels, c)
	}
	for _, e := range p.Channels[3].Entries {
		p.Bundles = append(p.Bundles, &catalog.Bundle{Name: e.Name, Version: semver.MustParse(strings.TrimPrefix(e.Name, "foo.v"))})
	}
	text := func(o picture.Options) string {
		var out bytes.Buffer
		fail.On(t, diagram.Write(&out, draw(t, p, o), diagram.Text))
		return out.String()
	}
	_, got, _ := strings.Cut(text(picture.Options{}), "foo.v0.9.0  absent\n")
	want := `
v1.2
9 bundles, head foo.v1.2.2
  o 1.2.2      foo.v1.2.2      head, shared  replaces 8 bundles
  o 8 bundles  1.0.0 to 1.2.1  drawn above

v1.1
6 bundles, head foo.v1.1.2
  o 1.1.2      foo.v1.1.2      head, shared  replaces 5 bundles
  o 5 bundles  1.0.0 to 1.1.1  drawn above

v1.0
3 bundles, head foo.v1.0.2
  o 1.0.2      foo.v1.0.2      head, shared  replaces 2 bundles
  o 2 bundles  1.0.0 to 1.0.1  drawn above
`
	fail.Diff(t, want, got)
	if got := text(picture.Options{All: true}); strings.Count(got, "foo.v1.0.1") != 4 || strings.Contains(got, "drawn above") {
		t.Errorf("all: %s", got)
	}
	// Updates from several bundles of a box are one line.
	for _, c := range p.Channels {
		c.Entries[2].Skips = []string{"foo.v0.8.0", "foo.v1.0.0", "foo.v1.0.1"}
		c.Entries[2].Replaces = "foo.v0.9.0"
	}
	if got := text(picture.Options{}); !strings.Contains(got, "; skips 0.8.0, 2 bundles\n") {
		t.Errorf("with several updates: %s", got)
	}
	// A bundle that has other updates in a channel is drawn there.
	p.Channels[1].Entries[2].Skips = []string{"foo.v1.0.0"}
	if got := text(picture.Options{}); strings.Count(got, "foo.v1.0.2 ") != 3 {
		t.Errorf("with another update: %s", got)
	}
	// So is one that the mirror keeps in one channel and not in the other.
	kept := &catalog.Package{Name: "foo", DefaultChannel: "v1.3", Channels: []*catalog.Channel{p.Channels[3]}}
	if got := text(picture.Options{Kept: kept}); strings.Count(got, "drawn above") != 2 || !strings.Contains(got, "pruned, drawn above") {
		t.Errorf("with marks: %s", got)
	}
}

// TestFoldPruned checks that pruned bundles in a row share a node, and that heads, kept and installed ones have their own.
func TestFoldPruned(t *testing.T) {
	t.Parallel()
	p := &catalog.Package{Name: "kite", DefaultChannel: "stable"}
	all, some := &catalog.Channel{Name: "stable"}, &catalog.Channel{Name: "stable"}
	for i := range 9 {
		e := catalog.Entry{Name: fmt.Sprintf("kite.v1.%d.0", i)}
		if i > 0 {
			e.Replaces = fmt.Sprintf("kite.v1.%d.0", i-1)
		}
		all.Entries = append(all.Entries, e)
		p.Bundles = append(p.Bundles, &catalog.Bundle{Name: e.Name, Version: semver.Version{Major: 1, Minor: uint64(i)}})
		if i == 6 {
			some.Entries = append(some.Entries, e)
		}
	}
	p.Channels = []*catalog.Channel{all}
	d := draw(t, p, picture.Options{Kept: &catalog.Package{Name: "kite", Channels: []*catalog.Channel{some}}, Installed: []graph.At{{Name: "kite.v1.3.0"}}, FoldPruned: true})
	got := elements.Map(d.Graphs[0].Nodes, func(n diagram.Node) string { return fmt.Sprint(n.Label, " ", len(n.Names)) })
	slices.Sort(got)
	fail.Diff(t, []string{"1.3.0 0", "1.6.0 0", "1.7.0 0", "1.8.0 0", "2 bundles 2", "3 bundles 3"}, got)
}
