package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
)

// TestRemovedAudit checks that a log is missed that was removed with its head, by the status and by the next run, and
// that a workspace without a log is none of that.
func TestRemovedAudit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shut := func(w *Workspace) {
		fail.On(t, w.Close())
	}
	open := func() *Workspace {
		w, err := Open(dir)
		fail.On(t, err)
		return w
	}
	problems := func() string {
		r, err := ReadAudit(dir, -1)
		fail.On(t, err)
		return strings.Join(r.Problems, "\n")
	}
	w := open()
	run := Run{Destination: "docker://m.example.com", Name: "a", Result: RunStarted}
	if err := w.SaveRun(run); err != nil { // of a version without the log, or killed before its first entry
		t.Fatal(err)
	}
	fail.Diff(t, "", problems())
	run.Audited = true
	err := w.Audit().Append(time.Now(), audit.Entry{Event: audit.RunBegan})
	if err == nil {
		err = w.SaveRun(run)
	}
	if run.Audited = false; err == nil {
		err = w.SaveRun(run) // the next run, which was killed at once
	}
	shut(w)
	fail.On(t, err)
	fail.Diff(t, "", problems())
	for _, name := range []string{auditFile, auditHeadFile} {
		fail.On(t, os.Remove(filepath.Join(dir, name)))
	}
	if got := problems(); !strings.Contains(got, "audit.ndjson and audit-head.json are missing") {
		t.Errorf("%q", got)
	}
	w = open()
	log := w.Audit()
	for range 2 {
		fail.On(t, log.Append(time.Now(), audit.Entry{Event: audit.RunBegan}))
	}
	shut(w)
	if got := problems(); strings.Count(got, "the log was removed outside of Gantry") != 1 {
		t.Errorf("%q", got)
	}
}
