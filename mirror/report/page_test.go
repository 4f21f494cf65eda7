package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// TestPage describes a mirror as a page: image sets with their ages and plans, and what a prune would delete.
func TestPage(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	html := func(after time.Duration) string {
		t.Helper()
		o := report.StatusOptions{Env: s.Env, Mirror: s.Docker("site"), Workspace: s.Path("none")}
		state, err := report.Status(t.Context(), o)
		fail.On(t, err)
		d, err := report.Page(t.Context(), o, state, time.Now().Add(after))
		fail.On(t, err)
		var b bytes.Buffer
		fail.On(t, page.Write(&b, d))
		return b.String()
	}
	if text := html(0); !strings.Contains(text, "no records of image sets") {
		t.Errorf("an empty mirror:\n%s", text)
	}
	s.Config("ops.yaml", mirrortest.FirstMonth)
	s.Mirrored(s.Path("ops.yaml"), s.Docker("site"))
	for after, want := range map[time.Duration]string{0: "less than an hour ago", 30 * time.Hour: "30 hours ago", 49 * 24 * time.Hour: "49 days ago"} {
		if text := html(after); !strings.Contains(text, want) || !strings.Contains(text, "Nothing to delete") || !strings.Contains(text, `id="set-1"`) {
			t.Errorf("the page after %s does not have %q", after, want)
		}
	}
	s.Config("ops.yaml", mirrortest.SecondMonth)
	s.Mirrored(s.Path("ops.yaml"), s.Docker("site"))
	if text := html(0); !strings.Contains(text, "gantry prune would delete") || !strings.Contains(text, "ops, revision 1") {
		t.Error("the page does not say what a prune would delete")
	}
	c := mirrortest.Catalogs(t)
	for _, version := range []string{"1.0.0", "1.2.0"} {
		config := c.Config("zoo.yaml", "  operators:\n  - catalog: "+mirrortest.ZooRef+"\n    packages: [{name: otter, channels: [{name: stable, minVersion: "+version+"}]}]\n")
		c.Mirrored(config, c.Docker("zoo"))
	}
	o := report.StatusOptions{Env: c.Env, Mirror: c.Docker("zoo"), Workspace: c.Path("none")}
	state, err := report.Status(t.Context(), o)
	fail.On(t, err)
	d, err := report.Page(t.Context(), o, state, time.Now())
	fail.On(t, err)
	tables := d.Sections[1].Items[0].Tables
	pruned := tables[len(tables)-1]
	var versions []string
	for _, row := range pruned.Rows {
		versions = append(versions, row.Cells[0].Text+" "+strings.SplitN(row.Cells[2].Text, ",", 2)[0])
	}
	if fail.Diff(t, []string{"otter.v1.0.0 revision 1", "otter.v1.1.0 revision 1", "otter.v1.1.1 revision 1"}, versions); pruned.Caption != "Versions that are no longer mirrored" {
		t.Errorf("the last table is %q", pruned.Caption)
	}
}

// TestPageOfProblems checks what the page of a mirror says of runs that have no record, of image sets that are incomplete, and of
// plans that cannot be read.
func TestPageOfProblems(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	set := report.MirroredSet{Revision: setrecord.Revision{Name: "ops", Number: 3, Runs: 7, LastRun: now.Add(-26 * time.Hour), Plan: digest.FromString("lost"), Content: setrecord.Content{Images: 5, Missing: 2, Withheld: 1}}}
	set.Revisions = []setrecord.Revision{{Name: "ops", Number: 2, Runs: 5, LastRun: now.Add(-72 * time.Hour), Configuration: digest.FromString("ops.yaml"), User: "ci", Host: "builder"}}
	state := &report.MirrorState{Mirror: s.Docker("site"), ImageSets: []report.MirroredSet{set}, Pending: []setrecord.Pending{{Name: "edge", Since: now.Add(-time.Minute), User: "ci"}}}
	d, err := report.Page(t.Context(), report.StatusOptions{Env: s.Env, Mirror: s.Docker("site"), Workspace: s.Path("none")}, state, now)
	fail.On(t, err)
	levels := elements.Map(d.Sections[0].Messages, func(m page.Message) page.Level { return m.Level })
	fail.Diff(t, []page.Level{page.Warning, page.Warning, page.Warning}, levels[:3])
	var rows []string
	for _, r := range d.Sections[1].Tables[0].Rows {
		rows = append(rows, strings.Join([]string{r.Cells[0].Text, r.Cells[0].Note, r.Cells[1].Text, r.Cells[2].Text, r.Cells[4].Text}, "|"))
	}
	fail.Diff(t, []string{"ops||26 hours ago|unknown|3", "ops|earlier|3 days ago|ci@builder|2"}, rows)
	fail.Diff(t, "State of 4 March 2026, 12:00 UTC.", d.Lead)
	if _, err := report.Page(t.Context(), report.StatusOptions{Env: s.Env, Mirror: "file:///disk"}, state, now); err == nil {
		t.Error("an archive is a mirror")
	}
}
