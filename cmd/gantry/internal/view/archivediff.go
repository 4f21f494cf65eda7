package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/plan"
)

// ArchiveDifference returns what changed from one archive to another as text.
func ArchiveDifference(d *gantry.ArchiveDifference) string {
	var b strings.Builder
	which := func(c gantry.ComparedArchive) string {
		return fmt.Sprintf("sequence %d of %q in %s", c.Sequence, c.Name, c.Archive)
	}
	if d.Empty() {
		fmt.Fprintf(&b, "No difference: %s and %s have the same content.\n", which(d.Old), which(d.New))
		return b.String()
	}
	fmt.Fprintf(&b, "From %s\n  to %s\n", which(d.Old), which(d.New))
	for _, part := range []struct {
		title    string
		releases []string
	}{{"Added", d.AddedReleases}, {"Removed", d.RemovedReleases}} {
		if len(part.releases) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", part.title, Number(len(part.releases), "platform release", "platform releases"))
			var lines []string
			for _, name := range part.releases {
				lines = append(lines, Printable(name))
			}
			List(&b, lines)
		}
	}
	for _, part := range []struct {
		title  string
		images []plan.ChangedImage
	}{{"Added", d.Added}, {"Removed", d.Removed}, {"Changed", d.Changed}} {
		if len(part.images) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", part.title, Number(len(part.images), "image", "images"))
		var lines []string
		for _, x := range part.images {
			line := fmt.Sprintf("%s  %s", x.Name, progress.Bytes(x.Size))
			if x.Old != "" && x.New != "" {
				line += fmt.Sprintf("  %s, was %s", Short(x.New), Short(x.Old))
			}
			lines = append(lines, line)
		}
		List(&b, lines)
	}
	fmt.Fprintf(&b, "New content: %s in %s. No longer needed: %s in %s.\n",
		progress.Bytes(d.NewBytes), Number(d.NewContent, "blob or manifest", "blobs and manifests"),
		progress.Bytes(d.RemovedBytes), Number(d.RemovedContent, "blob or manifest", "blobs and manifests"))
	return b.String()
}
