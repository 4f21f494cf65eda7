package diagram

import (
	"bufio"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice/escape"
)

// The identity of the JSON format. The version changes when a reader of an older version could
// misread a newer one.
const (
	jsonKind    = "GantryGraph"
	jsonVersion = 1
)

type jsonDrawing struct {
	Kind    string      `json:"kind"`
	Version int         `json:"version"`
	Title   string      `json:"title"`
	Notes   []string    `json:"notes,omitempty"`
	Marks   []jsonTerm  `json:"marks,omitempty"`
	Kinds   []jsonTerm  `json:"edgeKinds,omitempty"`
	Graphs  []jsonGraph `json:"graphs"`
}

// A jsonTerm is a mark or a kind of edge.
type jsonTerm struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
}

type jsonGraph struct {
	Title string     `json:"title"`
	Notes []string   `json:"notes,omitempty"`
	Marks []string   `json:"marks,omitempty"`
	Nodes []jsonNode `json:"nodes"`
	Edges []jsonEdge `json:"edges"`
}

type jsonNode struct {
	ID     string            `json:"id"`
	Label  string            `json:"label"`
	Detail string            `json:"detail,omitempty"`
	Note   string            `json:"note,omitempty"`
	Marks  []string          `json:"marks,omitempty"`
	Facts  map[string]string `json:"facts,omitempty"`
	Names  []string          `json:"names,omitempty"`
}

type jsonEdge struct {
	From   string            `json:"from"`
	To     string            `json:"to"`
	Kind   string            `json:"kind"`
	Label  string            `json:"label,omitempty"`
	Marks  []string          `json:"marks,omitempty"`
	Facts  map[string]string `json:"facts,omitempty"`
	Folded bool              `json:"folded,omitempty"`
}

// writeJSON writes the complete drawing: nodes by ID, edges by their ends and kind.
func writeJSON(w *bufio.Writer, d *Drawing) error {
	out := jsonDrawing{Kind: jsonKind, Version: jsonVersion, Title: d.Title, Notes: d.Notes, Graphs: []jsonGraph{}}
	for _, m := range d.Marks {
		out.Marks = append(out.Marks, jsonTerm{m.Name, m.About})
	}
	for _, k := range d.Kinds {
		out.Kinds = append(out.Kinds, jsonTerm{k.Name, k.About})
	}
	for _, g := range d.Graphs {
		graph := jsonGraph{Title: g.Title, Notes: g.Notes, Marks: g.Marks, Nodes: []jsonNode{}, Edges: []jsonEdge{}}
		for _, n := range g.Nodes {
			graph.Nodes = append(graph.Nodes, jsonNode{n.ID, n.Label, n.Detail, n.Note, n.Marks, factMap(n.Facts), n.Names})
		}
		for _, e := range g.Edges {
			graph.Edges = append(graph.Edges, jsonEdge{e.From, e.To, e.Kind, e.Label, e.Marks, factMap(e.Facts), e.Folded})
		}
		slices.SortFunc(graph.Nodes, func(a, b jsonNode) int { return cmp.Compare(a.ID, b.ID) })
		slices.SortStableFunc(graph.Edges, func(a, b jsonEdge) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Label, b.Label))
		})
		out.Graphs = append(out.Graphs, graph)
	}
	enc := json.NewEncoder(escape.Writer(w))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func factMap(facts []Fact) map[string]string {
	if len(facts) == 0 {
		return nil
	}
	m := make(map[string]string, len(facts))
	for _, f := range facts {
		m[f.Name] = f.Value
	}
	return m
}
