package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
)

// Audit returns the last entries of an audit log as a table for a screen of this width, 0 is no limit,
// and whether the log is unchanged.
func Audit(a *workspace.AuditResult, width int) string {
	if a.Entries == 0 && len(a.Problems) == 0 {
		return fmt.Sprintf("The workspace %s has no audit log yet; the next run begins it.\n", a.Workspace)
	}
	var b strings.Builder
	b.WriteString(tabulate(width, "ENTRY\tTIME\tEVENT\tSUBJECT\tDETAILS", elements.Map(a.Last, func(e audit.Entry) string {
		subject := e.Subject
		if e.Event == audit.RunBegan || e.Event == audit.RunEnded {
			subject = e.Destination
		}
		return fmt.Sprintf("%d\t%s\t%s\t%s\t%s", e.Sequence, e.Time.UTC().Format(time.RFC3339), OneLine(string(e.Event)), OneLine(cmp.Or(subject, "-")), OneLine(auditDetails(e)))
	}), "ENTRY") + "\n")
	writeAll(&b, "CHANGED: %s\n", elements.Map(a.Problems, OneLine))
	writeAll(&b, "note: %s\n", elements.Map(a.Notes, OneLine))
	writeIf(&b, len(a.Problems) == 0, "%s, unchanged; the last has the hash %s\n", Number(int(a.Entries), "entry", "entries"), a.Head.Hash)
	return Trimmed(b.String())
}

// auditDetails returns what an entry has beside its subject.
func auditDetails(e audit.Entry) string {
	return cmp.Or(joined(", ",
		e.Result,
		textIf(e.Images > 0, "%s", Number(e.Images, "image", "images")),
		textIf(e.Copied > 0, "%d copied", e.Copied),
		textIf(e.Failed > 0, "%d missing", e.Failed),
		textIf(e.By != "", "by %s", e.By),
		textIf(e.Digest != "" && e.Event == audit.RunEnded, "plan ")+e.Digest,
		e.Message), "-")
}
