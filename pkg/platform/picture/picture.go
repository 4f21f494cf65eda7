// Package picture turns an update graph of platform releases into a drawing: it takes what
// pkg/platform/graph read and returns what pkg/diagram draws.
//
// A channel has up to two hundred releases and thousands of updates between them. A picture of all
// of them would be unreadable, so releases and updates are folded.
//
//   - Releases: those that matter to a reader have a box each: the ends and the
//     releases of a path, and the newest release of each minor version. The releases
//     between them share one box for each run of releases of one minor version that
//     lead to the target equally well: by recommended updates, only by updates with
//     risks, or not at all. A small graph is not folded.
//   - Updates: an update is drawn if no path of drawn updates implies it. For a
//     recommended update that must be a path of recommended updates; for a
//     conditional one it is any path. A box shows how many releases lead to it
//     directly. The updates of a path are always drawn.
//
// So if one release leads to another in the graph, it also does in the picture, and over solid
// lines if it does so without risks. Everything here is a pure function.
package picture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/path"
)

// Options add to a drawing what the graph does not contain.
type Options struct {
	Title string
	// Paths are update paths to mark, with one target. Their versions are in the graph. Paths that
	// join stay together.
	Paths []path.Path
	// All draws every release in a box of its own.
	All bool
}

// unfolded is the largest number of releases of a graph that is not folded.
const unfolded = 12

// Part returns the graph of the releases on all paths from some releases to another, given by their
// indexes. If to is negative, it has the releases that from lead to; if from is empty, those that
// lead to to.
func Part(g *graph.Graph, from []int, to int) *graph.Graph {
	reach := newReach(g, anyUpdate)
	in := make(map[string]bool, len(g.Nodes))
	for i, n := range g.Nodes {
		begins := len(from) == 0 || slices.ContainsFunc(from, func(at int) bool { return i == at || reach.leads(at, i) })
		ends := to < 0 || i == to || reach.leads(i, to)
		in[n.Version.String()] = begins && ends
	}
	return g.Keep(func(n graph.Node) bool { return in[n.Version.String()] })
}

// Draw returns a drawing of a graph.
func Draw(g *graph.Graph, o Options) diagram.Drawing {
	s := newSketch(g, o)
	d := diagram.Drawing{Title: o.Title, Marks: s.marks(), Kinds: kinds(), Notes: s.notes()}
	if len(g.Nodes) == 0 {
		return d
	}
	out := diagram.Graph{Title: s.span(0, len(g.Nodes)-1), Notes: s.minors()}
	for _, b := range s.boxes {
		out.Nodes = append(out.Nodes, s.node(b))
	}
	out.Edges = s.edges()
	d.Graphs = []diagram.Graph{out}
	return d
}

// A sketch is a graph that is being turned into a drawing.
type sketch struct {
	g       *graph.Graph
	options Options
	target  int // the end of the path, or the head
	free    *reach
	all     *reach
	onPath  map[int]bool
	next    map[int]int // on the path
	boxes   []box
	boxOf   []int // by release
	// into counts the updates that lead to each release.
	into []updates
}

// updates are the numbers of recommended and of conditional updates.
type updates struct{ plain, conditional int }

// A box is the releases from first to last, by their indexes.
type box struct{ first, last int }

func newSketch(g *graph.Graph, o Options) *sketch {
	s := &sketch{
		g: g, options: o, target: g.Head(), free: newReach(g, recommended), all: newReach(g, anyUpdate),
		onPath: map[int]bool{}, next: map[int]int{}, boxOf: make([]int, len(g.Nodes)), into: make([]updates, len(g.Nodes)),
	}
	for i := range g.Nodes {
		for _, e := range g.From(i) {
			if e.Group < 0 {
				s.into[e.To].plain++
			} else {
				s.into[e.To].conditional++
			}
		}
	}
	for _, p := range o.Paths {
		s.follow(p)
	}
	s.fold()
	return s
}

// follow marks a path. The graph may have only a part of the path.
func (s *sketch) follow(p path.Path) {
	at, ok := s.g.Find(p.From)
	if !ok {
		return
	}
	s.onPath[at] = true
	for _, h := range p.Hops {
		to, ok := s.g.Find(h.To)
		if !ok {
			return
		}
		s.onPath[to], s.next[at] = true, to
		at = to
	}
	s.target = at
}

// fold assigns releases to boxes.
func (s *sketch) fold() {
	single := s.options.All || len(s.g.Nodes) <= unfolded
	for i := range s.g.Nodes {
		n := len(s.boxes)
		if i > 0 && !single && !s.alone(i) && !s.alone(i-1) && s.minor(i) == s.minor(i-1) && s.onward(i) == s.onward(i-1) {
			n--
			s.boxes[n].last = i
		} else {
			s.boxes = append(s.boxes, box{i, i})
		}
		s.boxOf[i] = n
	}
}

// alone reports whether a release has a box of its own: it is on the path, or the newest of its
// minor version.
func (s *sketch) alone(i int) bool {
	return s.onPath[i] || i == s.g.Head() || s.minor(i) != s.minor(i+1)
}

// onward returns the mark for how a release leads to the target. It is empty if recommended updates
// lead there.
func (s *sketch) onward(i int) string {
	switch {
	case i >= s.target || s.free.leads(i, s.target):
		return ""
	case s.all.leads(i, s.target):
		return risky
	}
	return stuck
}

func (s *sketch) version(i int) semver.Version { return s.g.Nodes[i].Version }

func (s *sketch) minor(i int) string {
	v := s.version(i)
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}

// span returns the name of a run of releases.
func (s *sketch) span(first, last int) string {
	if first == last {
		return s.version(first).String()
	}
	return s.version(first).String() + " to " + s.version(last).String()
}

// node returns the node of a box. Its ID is the box's first version.
func (s *sketch) node(b box) diagram.Node {
	n := diagram.Node{ID: s.version(b.first).String(), Label: s.span(b.first, b.last)}
	fact := func(name, value string) {
		if value != "" {
			n.Facts = append(n.Facts, diagram.Fact{Name: name, Value: value})
		}
	}
	if mark := s.onward(b.first); mark != "" {
		n.Marks = append(n.Marks, mark)
	}
	if b.first != b.last {
		n.Detail = counted(b.last-b.first+1, "release")
		n.Marks = append(n.Marks, folded)
		for i := b.first; i <= b.last; i++ {
			n.Names = append(n.Names, s.version(i).String())
		}
		return n
	}
	i := b.first
	n.Detail = s.leading(i)
	switch {
	case len(s.options.Paths) > 0 && i == s.target:
		n.Marks = append(n.Marks, target)
	case i == s.g.Head():
		n.Marks = append(n.Marks, head)
	case s.minor(i) != s.minor(i+1):
		n.Marks = append(n.Marks, newest)
	}
	if s.onPath[i] {
		n.Marks = append(n.Marks, onPath)
		if slices.ContainsFunc(s.options.Paths, func(p path.Path) bool { return p.From.EQ(s.version(i)) }) {
			n.Marks = append(n.Marks, start)
		}
	}
	fact("erratum", s.g.Nodes[i].URL)
	fact("payload", s.g.Nodes[i].Payload)
	fact("channels", strings.Join(s.g.Nodes[i].Channels, ", "))
	return n
}

// leading returns how many releases lead to a release directly.
func (s *sketch) leading(to int) string {
	plain, conditional := s.into[to].plain, s.into[to].conditional
	switch {
	case plain+conditional == 0:
		return ""
	case conditional == 0:
		return "from " + counted(plain, "release")
	case plain == 0:
		return "from " + counted(conditional, "release") + ", with risks"
	}
	return fmt.Sprintf("from %s, %d with risks", counted(plain+conditional, "release"), conditional)
}

// minors returns a summary of each minor version.
func (s *sketch) minors() []string {
	var notes []string
	for first := 0; first < len(s.g.Nodes); {
		last := first
		for last < s.g.Head() && s.minor(last+1) == s.minor(first) {
			last++
		}
		notes = append(notes, fmt.Sprintf("%s: %s, %s", s.minor(first), counted(last-first+1, "release"), s.span(first, last)))
		first = last + 1
	}
	return notes
}

// notes returns the sentences below the title.
func (s *sketch) notes() []string {
	plain, conditional := 0, 0
	for _, n := range s.into {
		plain += n.plain
		conditional += n.conditional
	}
	first := fmt.Sprintf("%s and %s", counted(len(s.g.Nodes), "release"), counted(plain+conditional, "update"))
	if conditional > 0 {
		first += fmt.Sprintf(", %d of them conditional", conditional)
	}
	notes := []string{first + "."}
	for _, p := range s.options.Paths {
		notes = append(notes, fmt.Sprintf("Path: %s. %s, %s.", p, counted(len(p.Hops), "hop"), riskCount(p)))
	}
	if n := len(s.boxes); n < len(s.g.Nodes) {
		notes = append(notes, fmt.Sprintf("Consecutive releases are folded into %s.", counted(n, "box")))
	}
	return notes
}

// riskCount returns how many risks the updates of a path have, and their names.
func riskCount(p path.Path) string {
	var names []string
	for _, h := range p.Hops {
		for _, r := range h.Risks {
			if !slices.Contains(names, r.Name) {
				names = append(names, r.Name)
			}
		}
	}
	if len(names) == 0 {
		return "no risks"
	}
	return counted(len(names), "risk") + ": " + strings.Join(names, ", ")
}
