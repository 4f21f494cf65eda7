package diagram

import (
	"bufio"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/advice/escape"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// The identity of the JSON format. The version changes when a reader of an older version could
// misread a newer one.
const (
	jsonKind    = "GantryGraph"
	jsonVersion = 1
)

// writeJSON writes the complete drawing: nodes by ID, edges by their ends and kind.
func writeJSON(w *bufio.Writer, d *Drawing) error {
	out := struct {
		Kind    string `json:"kind"`
		Version int    `json:"version"`
		Drawing
	}{jsonKind, jsonVersion, *d}
	out.Graphs = slices.Clone(d.Graphs)
	for i := range out.Graphs {
		g := &out.Graphs[i]
		g.Nodes = elements.Sorted(slices.Values(g.Nodes), func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
		g.Edges = elements.Sorted(slices.Values(g.Edges), func(a, b Edge) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Label, b.Label))
		})
	}
	if err := json.MarshalWrite(escape.Writer(w), out, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true)); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// MarshalJSONTo writes the facts as an object.
func (f Facts) MarshalJSONTo(enc *jsontext.Encoder) error {
	members := make(map[string]string, len(f))
	for _, one := range f {
		members[one.Name] = one.Value
	}
	return json.MarshalEncode(enc, members, json.Deterministic(true))
}
