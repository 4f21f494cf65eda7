package view

import (
	"cmp"
	"fmt"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// ArchiveImages returns the list of images as a table for a screen of this width; 0 is no limit.
func ArchiveImages(l *inspect.ArchiveImages, width int) string {
	return tabulate(width, "NAME\tKIND\tSIZE\tHERE\tDIGEST", elements.Map(l.Images, func(x inspect.ArchivedImage) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", x.Name, Printable(string(x.Kind)), progress.Bytes(x.Size), x.Here, x.Digest)
	}), "DIGEST", "KIND")
}

// ArchiveContent returns the list of manifests and blobs as a table for a screen of this width; 0 is no limit.
func ArchiveContent(l *inspect.ArchiveContent, width int) string {
	return tabulate(width, "VOLUME\tOFFSET\tBYTES\tDIGEST\tWHAT", elements.Map(l.Content, func(x inspect.ArchivedContent) string {
		what := cmp.Or(textIf(x.DeltaOf != "", "delta of %s (%s)", x.DeltaOf, progress.Bytes(x.BlobSize)), Printable(x.MediaType), "blob")
		what += textIf(x.Parts > 0, ", part %d of %d", x.Part, x.Parts)
		return fmt.Sprintf("%s\t%d\t%d\t%s\t%s", x.Volume, x.Offset, x.Size, x.Digest, what)
	}), "WHAT", "BYTES", "OFFSET")
}
