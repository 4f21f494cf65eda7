package plan

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Write writes the plan as JSON: indented, sorted, the same bytes for the same plan. Read reads it
// back. A plan may be larger than the available memory, so only one entry is encoded at a time.
func (p *Plan) Write(out io.Writer) error {
	w := &objectWriter{out: bufio.NewWriterSize(out, 64<<10)}
	w.enc = json.NewEncoder(&w.entry)
	w.enc.SetEscapeHTML(false)
	w.field("kind", p.Kind)
	w.field("version", p.Version)
	w.field("name", p.Name)
	w.field("totals", p.Totals)
	if p.ArchiveSize != 0 {
		w.field("archiveSize", p.ArchiveSize)
	}
	if p.Format != "" {
		w.field("format", p.Format)
	}
	writeSome(w, "catalogs", p.Catalogs)
	writeSome(w, "releases", p.Releases)
	writeSome(w, "updates", p.Updates)
	writeSome(w, "updateGraphs", p.UpdateGraphs)
	if p.GraphData != nil {
		w.field("graphData", p.GraphData)
	}
	writeSome(w, "tagRules", p.TagRules)
	if p.SignaturePolicy != "" {
		w.field("signaturePolicy", p.SignaturePolicy)
	}
	writeSome(w, "charts", p.Charts)
	writeSome(w, "files", p.Files)
	writeList(w, "images", p.Images)
	writeSome(w, "missing", p.Missing)
	writeSome(w, "blocked", p.Blocked)
	writeSome(w, "notes", p.Notes)
	writeList(w, "manifests", p.Manifests)
	writeList(w, "blobs", p.Blobs)
	w.put("\n}\n")
	if w.err == nil {
		w.err = w.out.Flush()
	}
	if w.err != nil {
		return fmt.Errorf("writing plan: %w", w.err)
	}
	return nil
}

// An objectWriter writes a JSON object, indented by one space as json.Encoder does. It keeps the first error
// and then writes nothing more.
type objectWriter struct {
	out    *bufio.Writer
	enc    *json.Encoder // into entry
	entry  bytes.Buffer
	fields int
	err    error
}

func (w *objectWriter) put(s string) {
	if w.err == nil {
		_, w.err = w.out.WriteString(s)
	}
}

// value writes v; prefix is the indentation of all but the first line.
func (w *objectWriter) value(prefix string, v any) {
	if w.err != nil {
		return
	}
	w.entry.Reset()
	w.enc.SetIndent(prefix, " ")
	if w.err = w.enc.Encode(v); w.err == nil {
		_, w.err = w.out.Write(bytes.TrimSuffix(w.entry.Bytes(), []byte("\n")))
	}
}

func (w *objectWriter) name(name string) {
	separator := ",\n \""
	if w.fields == 0 {
		separator = "{\n \""
	}
	w.fields++
	w.put(separator + name + "\": ")
}

func (w *objectWriter) field(name string, v any) {
	w.name(name)
	w.value(" ", v)
}

// writeSome is writeList, but omits an empty list.
func writeSome[T any](w *objectWriter, name string, list []T) {
	if len(list) > 0 {
		writeList(w, name, list)
	}
}

func writeList[T any](w *objectWriter, name string, list []T) {
	if len(list) == 0 {
		w.field(name, list)
		return
	}
	w.name(name)
	separator := "[\n  "
	for i := range list {
		w.put(separator)
		w.value("  ", &list[i])
		separator = ",\n  "
	}
	w.put("\n ]")
}
