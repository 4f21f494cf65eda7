package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/archive/inspect"
)

// ArchiveDifference returns what changed from one archive to another as text.
func ArchiveDifference(d *inspect.ArchiveDifference) string {
	var b strings.Builder
	which := func(c inspect.ComparedArchive) string {
		return fmt.Sprintf("sequence %d of %q in %s", c.Sequence, c.Name, c.Archive)
	}
	if d.Empty() {
		fmt.Fprintf(&b, "No difference: %s and %s have the same content.\n", which(d.Old), which(d.New))
		return b.String()
	}
	fmt.Fprintf(&b, "From %s\n  to %s\n", which(d.Old), which(d.New))
	difference(&b, &d.Difference)
	return b.String()
}
