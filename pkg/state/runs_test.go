package state

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestRuns checks that the last run of each destination and image set is kept, and that mirrors and
// archives without a recorded run are listed, too.
func TestRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := Open(dir)
	fail.On(t, err)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ok := func(err error) {
		t.Helper()
		fail.On(t, err)
	}
	ok(w.SaveRun(Run{Destination: "docker://m", Mirror: "m", Started: at, Result: RunStarted}))
	ok(w.SaveRun(Run{Destination: "docker://m", Mirror: "m", Name: "b", Started: at, Result: RunFailed, Message: "no"}))
	ok(w.SaveRun(Run{Destination: "docker://m", Mirror: "m", Name: "a", Started: at, Ended: at, Result: RunPartial, Images: 3, Failed: 1}))
	ok(w.SaveRun(Run{Destination: "docker://m", Mirror: "m", Name: "b", Started: at, Ended: at, Result: RunComplete, Images: 2}))
	ok(w.SaveRecord("m", "a", &Record{}))
	ok(w.SaveRecord("old", "a", &Record{}))
	ok(w.SaveExport("a", Export{SetRef: SetRef{Sequence: 1}, Date: at, Dir: "/disk"}, func(io.Writer) error { return nil }))
	ok(w.SaveExport("a", Export{SetRef: SetRef{Sequence: 2}, Date: at, Dir: "/disk"}, func(io.Writer) error { return nil }))
	want := []Run{
		{Destination: "docker://m", Mirror: "m", Name: "a", Started: at, Ended: at, Result: RunPartial, Images: 3, Failed: 1},
		{Destination: "docker://m", Mirror: "m", Name: "b", Started: at, Ended: at, Result: RunComplete, Images: 2},
		{Mirror: "old", Result: RunUnknown},
		{Destination: "file:///disk", Name: "a", Started: at, Result: RunUnknown, Sequence: 2},
	}
	got, err := Runs(dir) // the workspace is locked
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	ok(os.WriteFile(filepath.Join(dir, runsFile), []byte("[]"), 0o600))
	if got, err := Runs(dir); err == nil {
		t.Errorf("an altered list was accepted: %v", got)
	}
	ok(w.SaveRun(Run{Destination: "docker://m", Mirror: "m", Name: "c", Result: RunComplete}))
	if got, err := Runs(dir); err != nil || len(got) != 3 || got[0].Name != "c" {
		t.Errorf("after a damaged list: %v, %v", got, err)
	}
	ok(w.Close())
	if _, err := Runs(filepath.Join(dir, "none")); err == nil {
		t.Error("a workspace that does not exist has runs")
	}
}
