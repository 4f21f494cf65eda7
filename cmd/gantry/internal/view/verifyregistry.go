package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry"
)

// VerifiedRegistry returns the result of verifying a registry as text.
func VerifiedRegistry(r *gantry.VerifiedRegistry) string {
	var b strings.Builder
	if len(r.Missing) == 0 {
		blobs := "; their blobs were not checked (--blobs)"
		switch r.Blobs {
		case gantry.BlobsPresent:
			blobs = ", with every blob; the blobs were not read (--read-blobs)"
		case gantry.BlobsRead:
			blobs = ", and every manifest and blob was read and matches its digest"
		case gantry.BlobsNotChecked:
		}
		fmt.Fprintf(&b, "All %d images are at %s%s.\n", r.Images, r.Destination, blobs)
		writeVerified(&b, r.Verified)
		writeRefused(&b, r.Refused)
		return b.String()
	}
	fmt.Fprintf(&b, "Missing at %s\n", r.Destination)
	var lines []string
	for _, m := range r.Missing {
		line := m.Source
		if m.Repository != "" {
			at := ":" + strings.Join(m.Tags, ", ")
			if len(m.Tags) == 0 {
				at = "@" + m.Digest.String()
			}
			line += "\n      as " + r.Names[m.Repository].Name() + at
		}
		lines = append(lines, line+"\n      "+m.Problem)
	}
	List(&b, lines)
	writeVerified(&b, r.Verified)
	writeRefused(&b, r.Refused)
	return b.String()
}

// writeRefused writes the images that the signature policy does not accept.
func writeRefused(b *strings.Builder, all []gantry.RefusedImage) {
	if len(all) == 0 {
		return
	}
	b.WriteString("Refused by the signature policy\n")
	var lines []string
	for _, r := range all {
		lines = append(lines, r.Source+"\n      "+r.Reason)
	}
	List(b, lines)
}
