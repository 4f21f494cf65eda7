package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/plan"
)

// writePlannedFiles writes the files of a plan.
func writePlannedFiles(b *strings.Builder, p *plan.Plan) {
	if len(p.Files) == 0 {
		return
	}
	b.WriteString("Files\n")
	var lines []string
	for _, f := range p.Files {
		lines = append(lines, fmt.Sprintf("%s  from %s  %s  %s", f.Name, f.Origin, progress.Bytes(f.Size), Short(f.SHA256)))
	}
	List(b, lines)
	b.WriteByte('\n')
}
