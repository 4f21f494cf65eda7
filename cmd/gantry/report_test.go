package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/page"
)

// TestReportFlag checks which files --report refuses before a run, and that the page names flags and not options.
func TestReportFlag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "plan.html")
	for _, tc := range []struct {
		report reportFlag
		others []string
		want   string
	}{
		{"", []string{""}, ""}, {reportFlag(file), []string{"", "plan.json"}, ""},
		{reportFlag(dir), nil, "is a folder"}, {reportFlag(filepath.Join(dir, "none", "plan.html")), nil, "does not exist"},
		{reportFlag(file), []string{dir + "/./plan.html"}, "is the file of another result"},
	} {
		if err := tc.report.check(tc.others...); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("--report %s: %v, want %q", tc.report, err, tc.want)
		}
	}
	var said strings.Builder
	a := &app{stderr: &said, stdout: &said}
	d := &page.Document{Kind: "Plan", Title: "ops", Sections: []page.Section{{ID: "a", Title: "A", Messages: []page.Message{{Level: page.Note, Text: "set Options.OnStrand to warn"}}}}}
	fail.On(t, reportFlag(file).write(a, d))
	text, err := os.ReadFile(file)
	fail.On(t, err)
	if !strings.Contains(string(text), "set --on-strand to warn") {
		t.Errorf("the page names an option:\n%s", text)
	}
	fail.On(t, reportFlag("").write(a, d))
	fail.On(t, reportFlag(file).write(a, nil))
}
