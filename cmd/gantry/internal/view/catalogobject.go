package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/gantry-mirror/gantry/pkg/advice/escape"
	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// WriteObject writes an object of a catalog: as a line of JSON, or as a YAML document.
func WriteObject(out io.Writer, m *catalog.Meta, yaml bool) error {
	if yaml {
		text, err := m.YAML()
		if err == nil {
			_, err = fmt.Fprintf(out, "---\n%s", text)
		}
		return err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, m.Raw); err != nil {
		return fmt.Errorf("writing %s %q: %w", m.Schema, m.Name, err)
	}
	line.WriteByte('\n')
	_, err := out.Write(escape.JSON(line.Bytes()))
	return err
}
