// Package picture makes drawings of update graphs of platform releases: what
// pkg/diagram draws, from what pkg/release/graph read.
//
// A channel has up to two hundred releases and thousands of updates between them:
// a picture of all is black. So two things are folded.
//
//   - Releases: those with a name for somebody stand alone, which are the ends and
//     the releases of a path, and the newest of each minor version. What lies between
//     them stands in one box for each run of releases of one minor version from which
//     it is as good to go on: by updates that are recommended to everybody, only by
//     such with risks, or not at all. A part that is small anyway is not folded.
//   - Updates: one is drawn where no way over others that are drawn says the same.
//     For an update that is recommended to everybody that is a way of such updates;
//     for a conditional one, any way. A box says how many releases lead to it
//     directly. The updates of a path are always drawn.
//
// So whatever leads somewhere in the graph leads there in the picture too, and what
// leads there without risks does so over solid lines. Everything here is a pure
// function.
package picture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
	"github.com/gantry-mirror/gantry/pkg/release/path"
)

// Options say what a drawing tells beside the graph.
type Options struct {
	Title string
	// Path is marked, where it is given. Its versions are in the graph.
	Path *path.Path
	// All draws each release in a box of its own.
	All bool
}

// few is up to how many releases each has its box without being asked for.
const few = 12

// Part is the graph of the releases on all ways from one to another: with from
// only, of those that it leads to; with to only, of those that lead to it. A
// negative index is none.
func Part(g *graph.Graph, from, to int) *graph.Graph {
	ways := newWays(g, everything)
	in := make(map[string]bool, len(g.Nodes))
	for i, n := range g.Nodes {
		begins := from < 0 || i == from || ways.lead(from, i)
		ends := to < 0 || i == to || ways.lead(i, to)
		in[n.Version.String()] = begins && ends
	}
	return g.Keep(func(n graph.Node) bool { return in[n.Version.String()] })
}

// Draw makes a drawing of a graph.
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

// A sketch is a graph on its way to a drawing.
type sketch struct {
	g       *graph.Graph
	options Options
	target  int // what all ways should lead to: the end of the path, or the head
	free    *ways
	all     *ways
	onPath  map[int]bool
	next    map[int]int // on the path
	boxes   []box
	boxOf   []int // by release
	// into counts the updates that lead to each release.
	into []updates
}

// updates are numbers of updates that are recommended to everybody, and of others.
type updates struct{ plain, conditional int }

// A box is the releases from first to last, by their indexes.
type box struct{ first, last int }

func newSketch(g *graph.Graph, o Options) *sketch {
	s := &sketch{
		g: g, options: o, target: g.Head(), free: newWays(g, recommended), all: newWays(g, everything),
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
	if o.Path != nil {
		s.follow(*o.Path)
	}
	s.fold()
	return s
}

// follow finds a path in the graph, which may be a part of the one it was found in.
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

// fold puts releases into boxes.
func (s *sketch) fold() {
	whole := s.options.All || len(s.g.Nodes) <= few
	for i := range s.g.Nodes {
		n := len(s.boxes)
		if i > 0 && !whole && !s.alone(i) && !s.alone(i-1) && s.minor(i) == s.minor(i-1) && s.onward(i) == s.onward(i-1) {
			n--
			s.boxes[n].last = i
		} else {
			s.boxes = append(s.boxes, box{i, i})
		}
		s.boxOf[i] = n
	}
}

// alone reports whether a release has a box of its own: it is on the path, or the
// newest of its minor version.
func (s *sketch) alone(i int) bool {
	return s.onPath[i] || i == s.g.Head() || s.minor(i) != s.minor(i+1)
}

// onward is the mark that says how a release leads to the target; "" where updates
// that are recommended to everybody do.
func (s *sketch) onward(i int) string {
	switch {
	case i >= s.target || s.free.lead(i, s.target):
		return ""
	case s.all.lead(i, s.target):
		return risky
	}
	return stuck
}

func (s *sketch) version(i int) semver.Version { return s.g.Nodes[i].Version }

func (s *sketch) minor(i int) string {
	v := s.version(i)
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}

// span names the releases from one to another.
func (s *sketch) span(first, last int) string {
	if first == last {
		return s.version(first).String()
	}
	return s.version(first).String() + " to " + s.version(last).String()
}

// node is the node of a box; its ID is its first version.
func (s *sketch) node(b box) diagram.Node {
	n := diagram.Node{ID: s.version(b.first).String(), Label: s.span(b.first, b.last)}
	say := func(name, value string) {
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
	case s.options.Path != nil && i == s.target:
		n.Marks = append(n.Marks, target)
	case i == s.g.Head():
		n.Marks = append(n.Marks, head)
	case s.minor(i) != s.minor(i+1):
		n.Marks = append(n.Marks, newest)
	}
	if s.onPath[i] {
		n.Marks = append(n.Marks, onPath)
		if s.options.Path.From.EQ(s.version(i)) {
			n.Marks = append(n.Marks, start)
		}
	}
	say("erratum", s.g.Nodes[i].URL)
	say("payload", s.g.Nodes[i].Payload)
	say("channels", strings.Join(s.g.Nodes[i].Channels, ", "))
	return n
}

// leading says how many releases lead to one directly.
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

// minors say what there is of each minor version.
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

// notes are the sentences below the title.
func (s *sketch) notes() []string {
	plain, conditional := 0, 0
	for _, n := range s.into {
		plain += n.plain
		conditional += n.conditional
	}
	first := fmt.Sprintf("%s and %s", counted(len(s.g.Nodes), "release"), counted(plain+conditional, "update"))
	if conditional > 0 {
		first += fmt.Sprintf(", of which %s recommended only where no risk applies", verb(conditional, "is", "are"))
	}
	notes := []string{first + "."}
	if p := s.options.Path; p != nil {
		notes = append(notes, fmt.Sprintf("Path: %s. %s, %s.", p, counted(len(p.Hops), "hop"), riskCount(*p)))
	}
	if n := len(s.boxes); n < len(s.g.Nodes) {
		notes = append(notes, fmt.Sprintf("Releases that follow each other are folded into boxes: %s.", counted(n, "box")))
	}
	return notes
}

// riskCount says how many risks the updates of a path have.
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
