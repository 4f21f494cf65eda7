package mirroring

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/metrics"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/selection"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_800_000_000, 0)
	r := &RunSummary{
		Run: state.Run{Destination: "docker://mirror.example.com/ocp", Name: "zoo", Started: start, Ended: start.Add(90 * time.Second), Result: state.RunPartial,
			Images: 10, Copied: 2, Failed: 1, Sequence: 4, LastSuccess: start.Add(-time.Hour), Content: start.Add(-2 * time.Hour)},
		Result:  &Result{Report: &mirror.Report{Present: 7, BytesCopied: 4096, Withheld: []mirror.Withheld{{Catalog: "a"}}}},
		Retries: 5,
	}
	all := r.metrics()
	var b strings.Builder
	fail.On(t, metrics.Write(&b, all...))
	for name, value := range map[string]string{
		"gantry_run_success": "0", "gantry_run_duration_seconds": "90", "gantry_run_start_timestamp_seconds": "1800000000", "gantry_last_success_timestamp_seconds": "1799996400",
		"gantry_content_timestamp_seconds": "1799992800", "gantry_run_retries": "5", "gantry_run_copied_bytes": "4096", "gantry_run_withheld": "1", "gantry_archive_next_sequence": "5",
	} {
		if line := name + `{image_set="zoo",destination="docker://mirror.example.com/ocp"} ` + value + "\n"; !strings.Contains(b.String(), line) {
			t.Errorf("no %s in\n%s", line, b.String())
		}
	}
	for _, part := range []string{`state="present"} 7`, `state="copied"} 2`, `state="failed"} 1`, `result="partial"} 1`, `result="complete"} 0`} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no %s in\n%s", part, b.String())
		}
	}
	r.Destination = "docker://ci:hunter2@mirror.example.com/ocp"
	b.Reset()
	if err := r.writeMetrics(&b); err != nil || strings.Contains(b.String(), "hunter2") {
		t.Errorf("%v, or a password is in\n%s", err, b.String())
	}
	r.Ended = start.Add(-time.Hour) // the clock was set back
	b.Reset()
	if err := r.writeMetrics(&b); err != nil || !strings.Contains(b.String(), `gantry_run_duration_seconds{`) || strings.Contains(b.String(), "} -") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestRunReports checks that metrics are written for runs that fail or are interrupted, and that a file
// that cannot be written is found before the run.
func TestRunReports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "gantry.prom")
	config := filepath.Join(dir, "zoo.yaml")
	text := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages:\n  - name: 127.0.0.1:1/a/b:v1\n"
	fail.On(t, os.WriteFile(config, []byte(text), 0o600))
	o := Options{
		Selection: selection.Selection{Config: config}, Destination: "docker://127.0.0.1:1/ocp", Workspace: filepath.Join(dir, "workspace"), RunReports: RunReports{MetricsFile: file},
		Env: &env.Env{Home: dir, Getenv: func(string) string { return "" }},
	}
	defer o.Env.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	for name, tc := range map[string]struct {
		ctx  context.Context
		want string
	}{
		"interrupted": {ctx, `result="interrupted"} 1`},
	} {
		if _, err := Run(tc.ctx, o); err == nil {
			t.Fatalf("%s: no error", name)
		}
		have, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(have), tc.want) || strings.Contains(string(have), "last_success") {
			t.Errorf("%s: %v\n%s", name, err, have)
		}
	}
	for name, change := range map[string]func(*Options){
		"no folder": func(o *Options) { o.MetricsFile = filepath.Join(dir, "absent", "x.prom") },
		"a file":    func(o *Options) { o.MetricsFile = filepath.Join(config, "x.prom") },
		"dry run":   func(o *Options) { o.DryRun = true },
	} {
		changed := o
		change(&changed)
		if err := changed.Check(); advice.KindOf(err) != advice.Input {
			t.Errorf("%s: Check = %v", name, err)
		}
	}
}

// TestRunReportsRefused checks that files that cannot be written, or would replace each other, are refused before a run begins.
func TestRunReportsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "run")
	nothing := func(io.Writer, *RunSummary) error { return nil }
	for want, r := range map[string]RunReports{
		"is a folder":        {MetricsFile: dir},
		"the same file":      {MetricsFile: file, SummaryFile: dir + "/./run", Summarize: nothing},
		"requires Options.S": {SummaryFile: file},
		"no such file":       {SummaryFile: filepath.Join(dir, "none", "run")},
		"is not a folder":    {SummaryFile: "runreports_test.go/run"},
		"for runs that cop":  {SummaryFile: file},
	} {
		if err := r.check(want == "for runs that cop"); err == nil || !strings.Contains(err.Error(), want) || advice.KindOf(err) != advice.Input {
			t.Errorf("%q: %v", want, err)
		}
	}
	fail.On(t, (&RunReports{MetricsFile: file, SummaryFile: file + ".md", Summarize: nothing}).check(false))
	folder := filepath.Join(dir, "file")
	fail.On(t, os.WriteFile(folder, nil, 0o600))
	e, closeEnv := (*env.Env)(nil).OrDefault()
	defer closeEnv()
	if _, err := workspace.OpenSession(e, folder); err == nil || !strings.Contains(advice.Hint(err), "Options.Workspace") {
		t.Errorf("%v", err)
	}
}
