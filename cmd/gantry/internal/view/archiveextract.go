package view

import (
	"fmt"

	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// Extracted returns which images were extracted as text.
func Extracted(e *extract.Extracted) string {
	if e.Report.Copied == 0 && len(e.Report.Failed) == 0 {
		return fmt.Sprintf("Nothing to extract: %s already at %s%s.\n", AllImages(e.Count), env.LayoutScheme, e.To)
	}
	return fmt.Sprintf("Extracted %s to %s%s: %s written.\n", Number(e.Count, "image", "images"), env.LayoutScheme, e.To, progress.Bytes(e.Report.BytesCopied))
}
