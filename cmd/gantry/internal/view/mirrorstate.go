package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// MirrorState returns the image sets of a mirror as a table for a screen of this width, 0 is no limit.
func MirrorState(s *report.MirrorState, width int) string {
	if len(s.ImageSets)+len(s.Pending) == 0 {
		return fmt.Sprintf("%s has no records of image sets. The next run of each configuration writes them.\n", s.Mirror)
	}
	var b strings.Builder
	var rows []string
	row := func(name string, revision *setrecord.Revision) {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%d\t%s", OneLine(name), revision.LastRun.Format(time.RFC3339), OneLine(whoRan(revision)), origin(revision), revision.Number, revision.Runs, setContent(revision.Content)))
	}
	for i := range s.ImageSets {
		set := &s.ImageSets[i]
		row(set.Name, &set.Revision)
		for j := range set.Revisions {
			row("", &set.Revisions[j])
		}
	}
	b.WriteString(tabulate(width, "IMAGE SET\tLAST RUN\tBY\tFROM\tREVISION\tRUNS\tCONTENT", rows, "RUNS", "FROM", "REVISION", "BY"))
	for i := range s.Pending {
		run := &s.Pending[i]
		fmt.Fprintf(&b, "\nA run of %s by %s has begun to push at %s, and has no record: it is running, or was killed. Run it again.\n", OneLine(run.Name), OneLine(whoRan(run.Revision())), run.Since.Format(time.RFC3339))
	}
	return Trimmed(b.String())
}

// whoRan returns "user@host", or "-" if neither is known.
func whoRan(t *setrecord.Revision) string {
	if t.User == "" && t.Host == "" {
		return "-"
	}
	return strings.Trim(t.User+"@"+t.Host, "@")
}

// origin returns what a plan was made from, with the digest of the configuration or of the plan.
func origin(t *setrecord.Revision) string {
	if t.Configuration != "" {
		return string(t.From) + " " + Short(t.Configuration)
	}
	return string(t.From) + ", plan " + Short(t.Plan)
}

// setContent returns a summary such as "2 catalogs (14 packages), 3 releases, 412 images, 104.3 GiB".
func setContent(c setrecord.Content) string {
	return joined(", ",
		textIf(c.Catalogs > 0, "%s (%s)", Number(c.Catalogs, "catalog", "catalogs"), Number(c.Packages, "package", "packages")),
		textIf(c.Releases > 0, "%s", Number(c.Releases, "release", "releases")),
		textIf(c.Images > 0, "%s", Number(c.Images, "image", "images")),
		textIf(c.Charts > 0, "%s", Number(c.Charts, "chart", "charts")),
		textIf(c.Files > 0, "%s", Number(c.Files, "file", "files")),
		progress.Bytes(c.Bytes),
		textIf(c.Missing > 0, "PARTIAL: %s missing", Number(c.Missing, "image", "images")),
		textIf(c.Withheld > 0, "%d withheld", c.Withheld))
}
