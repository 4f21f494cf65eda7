// Package tail keeps the end of what a program prints, for messages about its failure.
package tail

import "strings"

// A Writer keeps the last Limit bytes of what is written to it. It never returns an error, and is not safe
// for concurrent use.
type Writer struct {
	Limit int
	text  []byte
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.text = append(w.text, p...)
	if over := len(w.text) - w.Limit; over > 0 {
		w.text = append(w.text[:0], w.text[over:]...)
	}
	return len(p), nil
}

// Line returns what was kept as one line.
func (w *Writer) Line() string { return Line(w.text) }

// Line returns a text as one line of valid UTF-8, with single spaces between words.
func Line(text []byte) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "")), " ")
}
