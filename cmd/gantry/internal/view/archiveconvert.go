package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/archive/foreign"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// ConvertedArchive returns what was converted as text.
func ConvertedArchive(r *foreign.ConvertedArchive) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Converted %s to sequence %d in %s: %s, %s.\n", strings.Join(r.Folders, ", "), r.Sequence, r.Archive,
		Number(r.Totals.Images, "image", "images"), progress.Bytes(r.Totals.Bytes))
	writeIf(&b, r.Earlier > 0, "Of %s, earlier archives have everything; they are not converted.\n", Number(r.Earlier, "name", "names"))
	for _, i := range r.Incomplete {
		fmt.Fprintf(&b, "  incomplete: %s has no %s\n", i.Name, i.Missing)
	}
	writeAll(&b, "  note: %s\n", r.Notes)
	fmt.Fprintf(&b, "On the disconnected side:\n  gantry mirror --from file://%s docker://MIRROR\n", r.Archive)
	return b.String()
}
