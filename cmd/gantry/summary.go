package main

import (
	"io"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
)

// summarize writes the file of --summary. Options are named by their flags.
func summarize(out io.Writer, s *mirroring.RunSummary) error {
	message := ""
	if s.Err != nil {
		message = errorLine(s.Err)
	}
	_, err := io.WriteString(out, flagNames(view.Summary(s, message)))
	return err
}
