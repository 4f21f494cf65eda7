package diagram

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
)

// A Form is a format of drawings.
type Form string

// The forms.
const (
	SVG     Form = "svg"
	Mermaid Form = "mermaid"
	DOT     Form = "dot"
	JSON    Form = "json"
	Text    Form = "text"
)

// Forms returns the names of all forms, as a command line lists them.
func Forms() []string {
	return []string{string(SVG), string(Mermaid), string(DOT), string(JSON), string(Text)}
}

// ErrForm matches the error for an unknown form.
var ErrForm = errors.New("no such form of a graph")

// ParseForm returns the form with a name.
func ParseForm(name string) (Form, error) {
	for _, f := range Forms() {
		if name == f {
			return Form(f), nil
		}
	}
	hint := ""
	if near := suggest.Nearest(name, Forms()); len(near) > 0 {
		hint = fmt.Sprintf("; did you mean %s?", near[0])
	}
	return "", fmt.Errorf("%w: %q; there are %s%s", ErrForm, name, strings.Join(Forms(), ", "), hint)
}

// Write writes a drawing in a form. The error is w's, matches [ErrForm], or describes a
// contradiction in the drawing; in the last two cases nothing was written.
func Write(w io.Writer, d Drawing, form Form) error {
	write, known := map[Form]func(*bufio.Writer, *Drawing) error{
		SVG: writeSVG, Mermaid: writeMermaid, DOT: writeDOT, JSON: writeJSON, Text: writeText,
	}[form]
	if !known {
		return fmt.Errorf("%w: %q", ErrForm, form)
	}
	if err := d.check(); err != nil {
		return fmt.Errorf("drawing a graph: %w", err)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if err := write(out, &d); err != nil {
		return fmt.Errorf("writing a graph: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing a graph: %w", err)
	}
	return nil
}
