package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// ArchiveImages returns the list of images as a table for a screen of this width; 0 is no limit.
func ArchiveImages(l *inspect.ArchiveImages, width int) string {
	var rows strings.Builder
	t := newTable(&rows, width)
	fmt.Fprintln(t, "NAME\tKIND\tSIZE\tHERE\tDIGEST")
	for _, x := range l.Images {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", x.Name, Printable(string(x.Kind)), progress.Bytes(x.Size), x.Here, x.Digest)
	}
	_ = t.Flush() // into memory
	return Trimmed(rows.String())
}

// ArchiveContent returns the list of manifests and blobs as a table for a screen of this width; 0 is no limit.
func ArchiveContent(l *inspect.ArchiveContent, width int) string {
	var rows strings.Builder
	t := newTable(&rows, width)
	fmt.Fprintln(t, "VOLUME\tOFFSET\tBYTES\tDIGEST\tWHAT")
	for _, x := range l.Content {
		what := "blob"
		if x.MediaType != "" {
			what = Printable(x.MediaType)
		}
		if x.DeltaOf != "" {
			what = fmt.Sprintf("delta of %s (%s)", x.DeltaOf, progress.Bytes(x.BlobSize))
		}
		if x.Parts > 0 {
			what += fmt.Sprintf(", part %d of %d", x.Part, x.Parts)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\n", x.Volume, x.Offset, x.Size, x.Digest, what)
	}
	_ = t.Flush() // into memory
	return Trimmed(rows.String())
}
