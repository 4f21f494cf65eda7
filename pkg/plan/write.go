package plan

import (
	"bufio"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Write writes the plan as JSON: indented, sorted, the same bytes for the same plan. Read reads it
// back. A plan may be larger than the available memory, so it is encoded piece by piece.
func (p *Plan) Write(out io.Writer) error {
	w := bufio.NewWriterSize(out, 64<<10)
	err := json.MarshalWrite(w, p, jsonv1.DefaultOptionsV1(), jsontext.WithIndent(" "), jsontext.EscapeForHTML(false), jsontext.EscapeForJS(true))
	if err == nil {
		_, _ = w.WriteString("\n") // Flush returns the error
		err = w.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing plan: %w", err)
	}
	return nil
}
