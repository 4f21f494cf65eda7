package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

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
	b.WriteString(tabulate(width, "ENTRY\tTIME\tEVENT\tSUBJECT\tDETAILS", each(a.Last, func(e audit.Entry) string {
		subject := e.Subject
		if e.Event == audit.RunBegan || e.Event == audit.RunEnded {
			subject = e.Destination
		}
		return fmt.Sprintf("%d\t%s\t%s\t%s\t%s", e.Sequence, e.Time.UTC().Format(time.RFC3339), OneLine(string(e.Event)), OneLine(cmp.Or(subject, "-")), OneLine(auditDetails(e)))
	})) + "\n")
	for _, p := range a.Problems {
		fmt.Fprintf(&b, "CHANGED: %s\n", OneLine(p))
	}
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "note: %s\n", OneLine(n))
	}
	if len(a.Problems) == 0 {
		fmt.Fprintf(&b, "%s, unchanged; the last has the hash %s\n", Number(int(a.Entries), "entry", "entries"), a.Head.Hash)
	}
	return Trimmed(b.String())
}

// auditDetails returns what an entry has beside its subject.
func auditDetails(e audit.Entry) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if e.Result != "" {
		add("%s", e.Result)
	}
	if e.Images > 0 {
		add("%s", Number(e.Images, "image", "images"))
	}
	if e.Copied > 0 {
		add("%d copied", e.Copied)
	}
	if e.Failed > 0 {
		add("%d missing", e.Failed)
	}
	if e.By != "" {
		add("by %s", e.By)
	}
	if e.Digest != "" {
		if e.Event == audit.RunEnded {
			add("plan %s", e.Digest)
		} else {
			add("%s", e.Digest)
		}
	}
	if e.Message != "" {
		add("%s", e.Message)
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}
