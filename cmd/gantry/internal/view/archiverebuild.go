package view

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gantry-mirror/gantry/archive/rebuild"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// RebuiltArchive returns what was rebuilt as text.
func RebuiltArchive(r *rebuild.Result) string {
	if len(r.Volumes) == 0 {
		return fmt.Sprintf("All volumes of sequence %d are intact; nothing was rebuilt.\n", r.Sequence)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Rebuilt %s of sequence %d; every byte verified:\n", Number(len(r.Volumes), "volume", "volumes"), r.Sequence)
	for _, v := range r.Volumes {
		fmt.Fprintf(&b, "  %s  %s, %d of %d blocks were missing or damaged\n", filepath.Join(v.Folder, v.Name), progress.Bytes(v.Size), v.Blocks, v.TotalBlocks)
	}
	return b.String()
}
