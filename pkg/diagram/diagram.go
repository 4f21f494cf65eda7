// Package diagram draws directed graphs of versions for people and programs.
//
// A [Drawing] is one or more graphs under a title: nodes that stand for
// something that can be installed, and edges that lead from what is older to
// what it may be updated to. What there is to say of nodes and edges is said in
// marks and kinds that the drawing declares: a word, a sentence for the legend,
// and a look. A look is a role, such as faded or strong, that every form has its
// own means for, never colour alone.
//
// [Write] gives a drawing one of five forms:
//
//	svg      a picture of its own: laid out here, no script, no font, no
//	         network; light and dark
//	mermaid  a flowchart for Markdown that renders it
//	dot      a digraph for Graphviz
//	json     everything there is, sorted, with a version; for programs
//	text     a tree from the newest down, for a terminal
//
// A folded edge is one that other edges imply or that a word says better. Only
// JSON lists it; the others leave it to [Node.Note]. Names come from strangers:
// every form escapes what it writes, and the forms for people show no control
// characters. The same drawing gives the same bytes.
//
// Nothing here knows of catalogs or platforms.
package diagram

import "fmt"

// A Drawing is what Write draws.
type Drawing struct {
	Title string
	Notes []string // sentences below the title
	// Marks and Kinds declare what nodes and edges refer to, in the order of
	// the legend. Only those that occur get there.
	Marks  []Mark
	Kinds  []Kind
	Graphs []Graph
}

// A Graph is one picture of a drawing, such as a channel.
type Graph struct {
	Title string
	Notes []string // short, below the title
	Marks []string // names of marks
	// Nodes are in an order that says something, oldest first: it decides what
	// edges do not. The last of several that nothing succeeds is the first in a
	// text.
	Nodes []Node
	Edges []Edge
}

// A Node is something that can be installed.
type Node struct {
	ID     string // unique in its graph; not empty
	Label  string // what the box says
	Detail string // a second line; may be empty
	Note   string // a third line; may be empty
	Marks  []string
	Facts  []Fact
	// Names are all names that the node stands for, where they are more than
	// one.
	Names []string
}

// A Fact is something to be said of a node or an edge: in a tooltip, or as a
// member of a JSON object. A name stands once.
type Fact struct{ Name, Value string }

// An Edge leads from a node to what it may be updated to.
type Edge struct {
	From, To string // IDs of nodes
	Kind     string // name of a kind
	Label    string // a word or two on the line; may be empty
	Marks    []string
	Facts    []Fact
	// Folded keeps the edge out of pictures.
	Folded bool
}

// A Mark is something that is true of some nodes, edges or graphs.
type Mark struct {
	Name  string // a word or two, as boxes and texts show it
	About string // for the legend: what it means
	Look  Look
}

// A Kind is a sort of edge.
type Kind struct {
	Name  string // the word between a node and what it comes from: "replaces"
	About string // for the legend: what it means
	Line  Line
}

// A Look is the role that a mark plays in a picture.
type Look int

// The looks. Badge, Notice and Here write the mark's name on the box.
const (
	Plain    Look = iota // shown in texts and tooltips only
	Strong               // a badge, and a heavy frame: where things lead
	Chosen               // a tick: it is taken along
	Faded                // a cross, and pale: it is left behind
	Dashed               // a dashed frame: it exists, but is passed over
	Notice               // a badge that warns
	Here                 // a badge that catches the eye: where somebody stands
	Badge                // a badge that only says something
	Stacked              // a second sheet behind the box: it stands elsewhere, too
	Absent               // no box, only dots around: it does not exist here
	lastLook = Absent
)

// A Line is how an edge is drawn.
type Line int

// The lines, from the strongest. Solid lines make the drawing's backbone.
const (
	Solid Line = iota
	Dash
	Dots
	lastLine = Dots
)

// check finds what is wrong with a drawing that its maker should have seen.
func (d *Drawing) check() error {
	marks, kinds := map[string]bool{}, map[string]bool{}
	for _, m := range d.Marks {
		if m.Name == "" || marks[m.Name] || m.Look < 0 || m.Look > lastLook {
			return fmt.Errorf("drawing %q: mark %q has no name, stands twice, or has no look", d.Title, m.Name)
		}
		marks[m.Name] = true
	}
	for _, k := range d.Kinds {
		if k.Name == "" || kinds[k.Name] || k.Line < 0 || k.Line > lastLine {
			return fmt.Errorf("drawing %q: kind %q has no name, stands twice, or has no line", d.Title, k.Name)
		}
		kinds[k.Name] = true
	}
	said := func(names []string, facts []Fact) error {
		for _, name := range names {
			if !marks[name] {
				return fmt.Errorf("mark %q is not declared", name)
			}
		}
		seen := map[string]bool{}
		for _, f := range facts {
			if seen[f.Name] {
				return fmt.Errorf("fact %q stands twice", f.Name)
			}
			seen[f.Name] = true
		}
		return nil
	}
	for _, g := range d.Graphs {
		if err := said(g.Marks, nil); err != nil {
			return fmt.Errorf("graph %q: %w", g.Title, err)
		}
		nodes := make(map[string]bool, len(g.Nodes))
		for _, n := range g.Nodes {
			if n.ID == "" || nodes[n.ID] {
				return fmt.Errorf("graph %q: node %q has no ID or stands twice", g.Title, n.ID)
			}
			nodes[n.ID] = true
			if err := said(n.Marks, n.Facts); err != nil {
				return fmt.Errorf("graph %q: node %q: %w", g.Title, n.ID, err)
			}
		}
		for _, e := range g.Edges {
			if !nodes[e.From] || !nodes[e.To] {
				return fmt.Errorf("graph %q: an edge from %q to %q: both must be nodes", g.Title, e.From, e.To)
			}
			if !kinds[e.Kind] {
				return fmt.Errorf("graph %q: kind %q is not declared", g.Title, e.Kind)
			}
			if err := said(e.Marks, e.Facts); err != nil {
				return fmt.Errorf("graph %q: edge from %q to %q: %w", g.Title, e.From, e.To, err)
			}
		}
	}
	return nil
}
