package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/archive/deltamaker"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// reasonTexts continue "carried whole: 3 blobs (10 MB) ".
var reasonTexts = map[deltamaker.Reason]string{
	deltamaker.NoBase:          "that resemble nothing at the site",
	deltamaker.NotReproducible: "whose compression cannot be reproduced",
	deltamaker.SavesLittle:     "that a delta would make little smaller",
	deltamaker.OutOfTime:       "for which no time was left (--disk-speed; --compact max takes any time)",
	deltamaker.TooCostly:       "that would cost too much processor time (--delta-time)",
	deltamaker.NotProven:       "whose delta did not give the blob",
	deltamaker.Unreadable:      "that could not be read to compare them",
}

// writeDeltas writes what an archive carries as deltas.
func writeDeltas(b *strings.Builder, r *airgap.ExportResult) {
	if r == nil || r.Deltas == nil || r.Empty {
		return
	}
	d := r.Deltas
	if d.Refused != "" {
		fmt.Fprintf(b, "No deltas: %s.\n", d.Refused)
		return
	}
	if d.Blobs > 0 {
		as := plural(d.Blobs, "is carried as a delta of", "are carried as deltas of")
		if d.Compact {
			as = plural(d.Blobs, "is carried compactly, in", "are carried compactly, in")
		}
		fmt.Fprintf(b, "%s of %s %s %s.\n", Number(d.Blobs, "blob", "blobs"), progress.Bytes(d.BlobBytes), as, progress.Bytes(d.Bytes))
	}
	var whole []string
	for _, reason := range slices.Sorted(maps.Keys(d.Whole)) {
		if reason != deltamaker.NoBase {
			a := d.Whole[reason]
			whole = append(whole, fmt.Sprintf("%s (%s) %s", Number(a.Blobs, "blob", "blobs"), progress.Bytes(a.Bytes), reasonTexts[reason]))
		}
	}
	writeIf(b, len(whole) > 0, "Carried whole: %s.\n", strings.Join(whole, ", "))
	if d.Compact {
		writeIf(b, d.Blobs > 0 && d.SiteUnknown, "The site needs a Gantry that reads compact archives: version %s, which --with-gantry adds, or a later one. With --compact off, any version is enough.\n", d.Version)
		return
	}
	writeIf(b, d.Blobs > 0 && d.SiteUnknown, "The site needs a Gantry that reads deltas: version %s, which --with-gantry adds, or a later one. With --delta off, any version is enough.\n", d.Version)
}

// plannedDeltas returns the row of a table about what an archive may carry as deltas, if any.
func plannedDeltas(d *airgap.PlannedDeltas) []string {
	switch {
	case d == nil:
		return nil
	case d.Refused != "":
		return []string{fmt.Sprintf("Deltas\tnone\t(%s)", d.Refused)}
	}
	if d.Compact {
		limit := "and may take any time"
		if d.Seconds > 0 {
			limit = fmt.Sprintf("for at most %s", time.Duration(d.Seconds)*time.Second)
		}
		return present(textIf(d.Blobs > 0, "Compact\t%s\t(%s to copy, whole; writing the archive compares them with each other, %s)", progress.Bytes(d.Bytes), Number(d.Blobs, "blob", "blobs"), limit))
	}
	return present(textIf(d.Blobs > 0, "Deltas\t%s\t(%s to copy, whole; writing the archive compares them with what the site has, and the sizes of their deltas are known then)", progress.Bytes(d.Bytes), Number(d.Blobs, "blob", "blobs")))
}
