package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A chart is a channel that is being turned into a graph.
type chart struct {
	*sketch
	channel *catalog.Channel
	kept    *catalog.Channel // nil if the mirror does not have it
	shape   graph.Shape
	entries []catalog.Entry // unique names, oldest first
	entry   map[string]bool // by name
	inKept  map[string]bool // entries of kept
	heads   map[string]bool // of the channel
	mirrors map[string]bool // heads of kept
	lost    map[string]bool // stranded
	near    map[string]int  // distance from the head, from 0
	edges   []edge
	graph   diagram.Graph
	own     map[string]ownNode // by name, after foldShared
}

func (s *sketch) channel(c *catalog.Channel) *chart {
	t := &chart{
		sketch: s, channel: c, shape: graph.Inspect(c.Entries),
		entry: map[string]bool{}, inKept: map[string]bool{},
		graph: diagram.Graph{Title: c.Name},
	}
	t.heads, t.lost = set(t.shape.Heads), set(t.shape.Stranded)
	if s.options.Kept != nil {
		if t.kept = s.options.Kept.Channel(c.Name); t.kept != nil {
			for _, e := range t.kept.Entries {
				t.inKept[e.Name] = true
			}
			t.mirrors = set(graph.Inspect(t.kept.Entries).Heads)
		}
	}
	for _, e := range c.Entries {
		if !t.entry[e.Name] {
			t.entry[e.Name] = true
			t.entries = append(t.entries, e)
		}
	}
	elements.Sort(t.entries, func(a, b catalog.Entry) int { return s.older(a.Name, b.Name) })
	t.findNear()
	t.findEdges()
	t.draw()
	t.describe()
	return t
}

func set(names []string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}

// older orders bundles by version and release, then by name. Bundles without a version come first.
func (s *sketch) older(a, b string) int {
	x, y := s.version(a), s.version(b)
	switch {
	case x == nil && y != nil:
		return -1
	case x != nil && y == nil:
		return 1
	case x != nil && y != nil:
		if c := s.numbered(a, *x).Compare(s.numbered(b, *y)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a, b)
}

// numbered returns a bundle's version with its release.
func (s *sketch) numbered(name string, version semver.Version) catalog.VersionRelease {
	if b := s.bundles[name]; b != nil {
		return catalog.NewVersionRelease(version, b.Release)
	}
	return catalog.NewVersionRelease(version, "")
}

// version returns the version of a bundle of the package. For other names it returns what follows
// ".v", as is the convention, or nil if that is not a version.
func (s *sketch) version(name string) *semver.Version {
	if b := s.bundles[name]; b != nil {
		if b.VersionErr != nil {
			return nil
		}
		return &b.Version
	}
	for i := range name {
		if rest, ok := strings.CutPrefix(name[i:], ".v"); ok {
			if v, err := semver.Parse(rest); err == nil {
				return &v
			}
		}
	}
	return nil
}

// findNear orders the entries by their distance from the head: first the head's chain, then the
// others, newest first.
func (t *chart) findNear() {
	t.near = make(map[string]int, len(t.entries))
	for _, name := range t.shape.Chain {
		if _, seen := t.near[name]; !seen {
			t.near[name] = len(t.near)
		}
	}
	for _, e := range slices.Backward(t.entries) {
		if _, seen := t.near[e.Name]; !seen {
			t.near[e.Name] = len(t.near)
		}
	}
}

// draw builds the nodes and edges of the graph.
func (t *chart) draw() {
	absentees := t.findAbsent()
	for _, a := range absentees {
		t.graph.Nodes = append(t.graph.Nodes, a.node)
	}
	more := t.fold()
	for _, e := range t.entries {
		t.graph.Nodes = append(t.graph.Nodes, t.node(e, more[e.Name]))
	}
	// Nodes for several names come first.
	elements.Sort(t.graph.Nodes, func(a, b diagram.Node) int {
		if len(a.Names)+len(b.Names) > 0 {
			return cmp.Compare(len(b.Names), len(a.Names))
		}
		return t.older(a.ID, b.ID)
	})
	nodeOf := map[string]diagram.Node{} // by name
	for _, a := range absentees {
		for _, name := range a.names {
			nodeOf[name] = a.node
		}
	}
	type key struct{ from, to, kind string }
	seen := map[key]bool{}
	for _, e := range t.edges {
		from, facts := e.from, []diagram.Fact(nil)
		if node, ok := nodeOf[from]; ok {
			from = node.ID
			if len(node.Names) > 0 {
				facts = []diagram.Fact{{Name: "from", Value: node.Label}}
			}
		}
		// The names of one node have the same edges.
		k := key{from, e.to, e.kind}
		if seen[k] {
			continue
		}
		seen[k] = true
		out := diagram.Edge{From: from, To: e.to, Kind: e.kind, Facts: facts, Folded: !e.drawn}
		if e.kind == skipRange {
			out.Label = e.span
		}
		if t.options.Kept != nil {
			out.Marks = []string{t.fate(e.to)}
		}
		t.graph.Edges = append(t.graph.Edges, out)
	}
}

// fate returns the mark for an entry: kept or pruned.
func (t *chart) fate(name string) string {
	if t.inKept[name] {
		return kept
	}
	return pruned
}

// node returns the node of an entry. more is the number of edges into it that are not drawn. Boxes
// show it for heads only, because readers look for it there.
func (t *chart) node(e catalog.Entry, more int) diagram.Node {
	n := diagram.Node{ID: e.Name, Label: e.Name}
	fact := func(name, value string) {
		if value != "" {
			n.Facts = append(n.Facts, diagram.Fact{Name: name, Value: value})
		}
	}
	switch b := t.bundles[e.Name]; {
	case b == nil:
		n.Detail = "no bundle of this name"
	case b.VersionErr != nil:
		n.Detail = "no version"
		fact("version", b.VersionErr.Error())
	default:
		n.Label, n.Detail = b.Version.String(), e.Name
		fact("version", b.Version.String())
		if b.Release != "" {
			n.Label += " (" + b.Release + ")"
			fact("release", b.Release)
		}
	}
	if t.heads[e.Name] {
		n.Marks = append(n.Marks, head)
	} else if t.mirrors[e.Name] {
		n.Marks = append(n.Marks, mirrorHead)
	}
	if t.runs(e.Name) {
		n.Marks = append(n.Marks, installed)
	}
	if t.options.Kept != nil {
		n.Marks = append(n.Marks, t.fate(e.Name))
		if why, ok := t.reasons[t.channel.Name][e.Name]; ok {
			reason := string(why.Reason)
			if why.For != "" {
				reason += ", for " + why.For
			}
			fact("kept because of", reason)
		}
	}
	if t.shape.Skipped[e.Name] {
		n.Marks = append(n.Marks, skipped)
	}
	if message, ok := t.deprecation(catalog.SchemaBundle, e.Name); ok {
		n.Marks = append(n.Marks, deprecated)
		fact("deprecated", message)
	}
	if t.lost[e.Name] {
		n.Marks = append(n.Marks, stranded)
	}
	fact("replaces", e.Replaces)
	fact("skips", diagram.Few(e.Skips, 5))
	fact("skipRange", e.SkipRange)
	if more > 0 {
		fact("also directly from", counted(more, "bundle"))
		if t.heads[e.Name] || t.mirrors[e.Name] {
			n.Note = fmt.Sprintf("directly from %s more", diagram.Count(more))
		}
	}
	if others := t.otherChannels(e.Name); len(others) > 0 {
		n.Marks = append(n.Marks, shared)
		fact("also in", strings.Join(others, ", "))
	}
	return n
}

// otherChannels returns the other channels that have a bundle.
func (t *chart) otherChannels(name string) []string {
	return slices.DeleteFunc(slices.Clone(t.channelsOf[name]), func(c string) bool { return c == t.channel.Name })
}

// describe adds the marks and notes of the channel as a whole.
func (t *chart) describe() {
	g, p, k := &t.graph, t.pkg, t.options.Kept
	if t.channel.Name == p.DefaultChannel {
		g.Marks = append(g.Marks, isDefault)
	}
	if k != nil {
		if t.channel.Name == k.DefaultChannel && k.DefaultChannel != p.DefaultChannel {
			g.Marks = append(g.Marks, mirrorDefault)
		}
		if len(t.inKept) == 0 {
			g.Marks = append(g.Marks, notMirrored)
		}
	}
	first := counted(len(t.entries), "bundle")
	if len(t.inKept) > 0 {
		first += fmt.Sprintf(", %s kept", diagram.Count(len(t.inKept)))
	}
	if len(t.shape.Heads) == 1 {
		first += ", head " + t.shape.Heads[0]
	}
	g.Notes = append([]string{first}, g.Notes...)
	switch {
	case len(t.shape.Cycle) > 0:
		g.Notes = append(g.Notes, "OLM refuses this channel: its entries replace each other in a cycle, "+strings.Join(t.shape.Cycle, ", "))
	case len(t.shape.Heads) == 0:
		g.Notes = append(g.Notes, "OLM refuses this channel: it has no head")
	case len(t.shape.Heads) > 1:
		g.Notes = append(g.Notes, "OLM refuses this channel: it has several heads, "+diagram.Few(t.shape.Heads, 5))
	case len(t.shape.Stranded) > 0:
		g.Notes = append(g.Notes, "OLM refuses this channel: no updates lead to the head from "+diagram.Few(t.shape.Stranded, 5))
	}
	if message, ok := t.deprecation(catalog.SchemaChannel, t.channel.Name); ok {
		g.Marks = append(g.Marks, deprecated)
		g.Notes = append(g.Notes, "deprecated: "+message)
	}
}
