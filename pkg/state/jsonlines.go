package state

import (
	"bytes"
	"encoding/json"
	"io"
)

// jsonLines writes JSON in pieces. flush returns the first error.
type jsonLines struct {
	out io.Writer
	buf bytes.Buffer
	err error
}

// flushSize is how many bytes are written at once.
const flushSize = 64 << 10

func (w *jsonLines) text(s string) {
	if w.err != nil {
		return
	}
	w.buf.WriteString(s)
	if w.buf.Len() >= flushSize {
		w.err = w.flush()
	}
}

func (w *jsonLines) value(v any) {
	raw, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.text(string(raw))
}

// open writes an object whose last field is an empty list, without the end of the list.
func (w *jsonLines) open(v any) {
	raw, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.text(string(bytes.TrimSuffix(raw, []byte("]}"))))
}

func (w *jsonLines) comma(i int) {
	if i > 0 {
		w.text(",")
	}
	w.text("\n")
}

func (w *jsonLines) flush() error {
	if w.err == nil {
		_, w.err = w.out.Write(w.buf.Bytes())
		w.buf.Reset()
	}
	return w.err
}
