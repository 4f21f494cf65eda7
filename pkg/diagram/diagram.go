// Package diagram draws directed graphs of versions for people and programs.
//
// A [Drawing] is one or more graphs under a title. Nodes are things that can be installed; edges
// lead from older nodes to what they may be updated to. Properties of nodes and edges are expressed
// as marks and kinds, which the drawing declares: a word, a sentence for the legend, and a look. A
// look is a role, such as faded or strong. Every form shows it in its own way, and never by color
// alone.
//
// [Write] writes a drawing in one of five forms:
//
//	svg      a self-contained picture: no scripts, fonts or network access;
//	         light and dark
//	mermaid  a flowchart for Markdown renderers that support it
//	dot      a digraph for Graphviz
//	json     the complete drawing, sorted, with a version; for programs
//	text     a tree from the newest node down, for a terminal
//
// A folded edge is one that other edges imply or that a note describes better. Only JSON lists it;
// the other forms rely on [Node.Note]. Names are untrusted: every form escapes what it writes, and
// the forms for people contain no control characters. The same drawing gives the same bytes.
//
// The package knows nothing of catalogs or platforms.
package diagram

import "fmt"

// A Drawing is the input of Write.
type Drawing struct {
	Title string   `json:"title"`
	Notes []string `json:"notes,omitempty"` // sentences below the title
	// Marks and Kinds declare what nodes and edges refer to, in the order of the legend. The legend
	// shows only those that occur.
	Marks  []Mark  `json:"marks,omitempty"`
	Kinds  []Kind  `json:"edgeKinds,omitempty"`
	Graphs []Graph `json:"graphs"`
}

// A Graph is one picture of a drawing, such as a channel.
type Graph struct {
	Title string   `json:"title"`
	Notes []string `json:"notes,omitempty"` // short, below the title
	Marks []string `json:"marks,omitempty"` // names of marks
	// Nodes are ordered, oldest first. The order decides the layout where edges do not. If several
	// nodes have no successor, the text form begins with the last one.
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// A Node is something that can be installed.
type Node struct {
	ID     string   `json:"id"`               // unique in its graph; not empty
	Label  string   `json:"label"`            // the text of the box
	Detail string   `json:"detail,omitempty"` // a second line; may be empty
	Note   string   `json:"note,omitempty"`   // a third line; may be empty
	Marks  []string `json:"marks,omitempty"`
	Facts  Facts    `json:"facts,omitempty"`
	// Names are all names that the node represents, if it represents several.
	Names []string `json:"names,omitempty"`
}

// A Fact is a property of a node or an edge, shown in a tooltip or as a member of a JSON object.
// Names are unique.
type Fact struct{ Name, Value string }

// Facts are the properties of one node or edge, in the order of the tooltip.
type Facts []Fact

// An Edge leads from a node to what it may be updated to.
type Edge struct {
	From  string   `json:"from"`            // the ID of a node
	To    string   `json:"to"`              // the ID of a node
	Kind  string   `json:"kind"`            // name of a kind
	Label string   `json:"label,omitempty"` // a word or two on the line; may be empty
	Marks []string `json:"marks,omitempty"`
	Facts Facts    `json:"facts,omitempty"`
	// Folded hides the edge in pictures.
	Folded bool `json:"folded,omitzero"`
}

// A Mark is a property that some nodes, edges or graphs have.
type Mark struct {
	Name  string `json:"name"`            // a word or two, as boxes and texts show it
	About string `json:"about,omitempty"` // for the legend: what it means
	Look  Look   `json:"-"`
}

// A Kind is a type of edge.
type Kind struct {
	Name  string `json:"name"`            // the word between a node and what it comes from: "replaces"
	About string `json:"about,omitempty"` // for the legend: what it means
	Line  Line   `json:"-"`
}

// A Look is the role that a mark plays in a picture.
type Look int

// The looks. Badge, Notice and Here write the mark's name on the box.
const (
	Plain    Look = iota // shown in texts and tooltips only
	Strong               // a badge, and a heavy frame: where things lead
	Chosen               // a tick: it is included
	Faded                // a cross, and pale: it is not included
	Dashed               // a dashed frame: it exists, but is skipped
	Notice               // a badge that warns
	Here                 // a badge that catches the eye: where a cluster is
	Badge                // a badge without a meaning of its own
	Stacked              // a second sheet behind the box: it also appears elsewhere
	Absent               // no box, only dots around: it does not exist here
	lastLook = Absent
)

// A Line is how an edge is drawn.
type Line int

// The lines, from the strongest. Solid lines are the backbone of the drawing.
const (
	Solid Line = iota
	Dash
	Dots
	lastLine = Dots
)

// check returns an error if the drawing contradicts itself.
func (d *Drawing) check() error {
	marks, kinds := map[string]bool{}, map[string]bool{}
	for _, m := range d.Marks {
		if m.Name == "" || marks[m.Name] || m.Look < 0 || m.Look > lastLook {
			return fmt.Errorf("drawing %q: mark %q has no name, is declared twice, or has no look", d.Title, m.Name)
		}
		marks[m.Name] = true
	}
	for _, k := range d.Kinds {
		if k.Name == "" || kinds[k.Name] || k.Line < 0 || k.Line > lastLine {
			return fmt.Errorf("drawing %q: kind %q has no name, is declared twice, or has no line", d.Title, k.Name)
		}
		kinds[k.Name] = true
	}
	checkNames := func(names []string, facts []Fact) error {
		for _, name := range names {
			if !marks[name] {
				return fmt.Errorf("mark %q is not declared", name)
			}
		}
		seen := map[string]bool{}
		for _, f := range facts {
			if seen[f.Name] {
				return fmt.Errorf("fact %q is a duplicate", f.Name)
			}
			seen[f.Name] = true
		}
		return nil
	}
	for _, g := range d.Graphs {
		if err := checkNames(g.Marks, nil); err != nil {
			return fmt.Errorf("graph %q: %w", g.Title, err)
		}
		nodes := make(map[string]bool, len(g.Nodes))
		for _, n := range g.Nodes {
			if n.ID == "" || nodes[n.ID] {
				return fmt.Errorf("graph %q: node %q has no ID or is a duplicate", g.Title, n.ID)
			}
			nodes[n.ID] = true
			if err := checkNames(n.Marks, n.Facts); err != nil {
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
			if err := checkNames(e.Marks, e.Facts); err != nil {
				return fmt.Errorf("graph %q: edge from %q to %q: %w", g.Title, e.From, e.To, err)
			}
		}
	}
	return nil
}
