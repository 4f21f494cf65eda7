package receipt

import (
	"bytes"
	"encoding/json"
	"io"
)

// lines writes JSON piece by piece; what goes wrong first is what flush returns.
type lines struct {
	out io.Writer
	buf bytes.Buffer
	err error
}

// enough is how many bytes are written at once.
const enough = 64 << 10

func (w *lines) text(s string) {
	if w.err != nil {
		return
	}
	w.buf.WriteString(s)
	if w.buf.Len() >= enough {
		w.err = w.flush()
	}
}

func (w *lines) value(v any) {
	raw, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.text(string(raw))
}

// open writes an object whose last field is an empty list, up to the list's end.
func (w *lines) open(v any) {
	raw, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.text(string(bytes.TrimSuffix(raw, []byte("]}"))))
}

func (w *lines) comma(i int) {
	if i > 0 {
		w.text(",")
	}
	w.text("\n")
}

func (w *lines) flush() error {
	if w.err == nil {
		_, w.err = w.out.Write(w.buf.Bytes())
		w.buf.Reset()
	}
	return w.err
}
