package plan

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Write writes the plan as JSON: indented, sorted, the same bytes for the same
// plan, which Read takes back. A plan may have more text than a machine has
// memory to spare, so no more than one entry of it is held at a time.
func (p *Plan) Write(w io.Writer) error {
	t := &text{out: bufio.NewWriterSize(w, 64<<10)}
	t.enc = json.NewEncoder(&t.entry)
	t.enc.SetEscapeHTML(false)
	t.field("kind", p.Kind)
	t.field("version", p.Version)
	t.field("name", p.Name)
	t.field("totals", p.Totals)
	if p.ArchiveSize != 0 {
		t.field("archiveSize", p.ArchiveSize)
	}
	writeSome(t, "catalogs", p.Catalogs)
	writeSome(t, "releases", p.Releases)
	writeSome(t, "updates", p.Updates)
	writeSome(t, "updateGraphs", p.UpdateGraphs)
	if p.GraphData != nil {
		t.field("graphData", p.GraphData)
	}
	writeList(t, "images", p.Images)
	writeSome(t, "missing", p.Missing)
	writeSome(t, "blocked", p.Blocked)
	writeSome(t, "notes", p.Notes)
	writeList(t, "manifests", p.Manifests)
	writeList(t, "blobs", p.Blobs)
	t.put("\n}\n")
	if t.err == nil {
		t.err = t.out.Flush()
	}
	if t.err != nil {
		return fmt.Errorf("writing plan: %w", t.err)
	}
	return nil
}

// A text is a JSON object on its way out, as json.Encoder would indent it by one
// space. The first error is kept and ends the writing.
type text struct {
	out    *bufio.Writer
	enc    *json.Encoder // into entry
	entry  bytes.Buffer
	fields int
	err    error
}

func (t *text) put(s string) {
	if t.err == nil {
		_, t.err = t.out.WriteString(s)
	}
}

// value writes v; prefix is what its further lines begin with.
func (t *text) value(prefix string, v any) {
	if t.err != nil {
		return
	}
	t.entry.Reset()
	t.enc.SetIndent(prefix, " ")
	if t.err = t.enc.Encode(v); t.err == nil {
		_, t.err = t.out.Write(bytes.TrimSuffix(t.entry.Bytes(), []byte("\n")))
	}
}

func (t *text) name(name string) {
	separator := ",\n \""
	if t.fields == 0 {
		separator = "{\n \""
	}
	t.fields++
	t.put(separator + name + "\": ")
}

func (t *text) field(name string, v any) {
	t.name(name)
	t.value(" ", v)
}

// writeSome is writeList for a list that is left out where it is empty.
func writeSome[T any](t *text, name string, list []T) {
	if len(list) > 0 {
		writeList(t, name, list)
	}
}

func writeList[T any](t *text, name string, list []T) {
	if len(list) == 0 {
		t.field(name, list)
		return
	}
	t.name(name)
	separator := "[\n  "
	for i := range list {
		t.put(separator)
		t.value("  ", &list[i])
		separator = ",\n  "
	}
	t.put("\n ]")
}
