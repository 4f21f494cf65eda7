package mirroring

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
)

// TestAudit checks what the audit log has of a run, that it has no secrets, and that entries of several
// goroutines follow each other.
func TestAudit(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "workspace")
	e := &env.Env{Getenv: func(name string) string { return map[string]string{"USER": "ci"}[name] }, Home: t.TempDir()}
	s, err := workspace.OpenSession(e, dir)
	fail.On(t, err)
	s.Audit(audit.Entry{Event: audit.Gate}) // before workspace.BeginAudit
	fail.On(t, s.BeginAudit("mirror", "docker://mirror.example.com/ocp", "zoo"))
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() { s.Audit(audit.Entry{Event: audit.Gate, Subject: "quay.io/a/b:v1", Result: "refused"}) })
	}
	g.Wait()
	auditResult(s, &state.Run{Name: "zoo", Result: state.RunFailed, Failed: 1, Message: "get https://ci:hunter2@example.com/x: refused"}, nil, &Result{
		Report: &mirror.Report{Failed: []mirror.Failure{{Source: "quay.io/a/b:v2", Reason: "not found"}}, Withheld: []mirror.Withheld{{Catalog: "quay.io/c:v4", Missing: []string{"quay.io/a/b:v2"}}}},
	})
	fail.On(t, errors.Join(s.AuditError(), s.Close()))
	r, err := workspace.Audit(dir, -1)
	fail.On(t, err)
	events := elements.Map(r.Last, func(e audit.Entry) string { return string(e.Event) })
	fail.Diff(t, append(append([]string{"run-began"}, slices.Repeat([]string{"gate"}, 8)...), "withheld", "image-failed", "run-ended"), events)
	text, err := os.ReadFile(filepath.Join(dir, "audit.ndjson"))
	fail.On(t, err)
	if strings.Contains(string(text), "hunter2") || !strings.HasPrefix(r.Last[0].By, "ci, process ") {
		t.Errorf("audit log:\n%s", text)
	}
	fail.On(t, os.WriteFile(filepath.Join(dir, "audit.ndjson"), []byte(strings.Replace(string(text), "refused", "allowed", 1)), 0o600))
	if r, err := workspace.Audit(dir, 0); advice.KindOf(err) != advice.Mismatch || len(r.Problems) == 0 || len(r.Last) != 0 {
		t.Errorf("Audit = %+v, %v", r, err)
	}
	fail.On(t, os.Remove(filepath.Join(dir, "audit.ndjson")))
	if r, err := workspace.Audit(dir, 0); advice.KindOf(err) != advice.Mismatch || len(r.Problems) != 1 {
		t.Errorf("Audit = %+v, %v", r, err)
	}
}
