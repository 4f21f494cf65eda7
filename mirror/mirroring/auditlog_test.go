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
	"github.com/gantry-mirror/gantry/pkg/env"
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
	if err != nil {
		t.Fatal(err)
	}
	s.Audit(audit.Entry{Event: audit.Gate}) // before workspace.BeginAudit
	if err := s.BeginAudit("mirror", "docker://mirror.example.com/ocp", "zoo"); err != nil {
		t.Fatal(err)
	}
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() { s.Audit(audit.Entry{Event: audit.Gate, Subject: "quay.io/a/b:v1", Result: "refused"}) })
	}
	g.Wait()
	auditResult(s, &state.Run{Name: "zoo", Result: state.RunFailed, Failed: 1, Message: "get https://ci:hunter2@example.com/x: refused"}, nil, &Result{
		Report: &mirror.Report{Failed: []mirror.Failure{{Source: "quay.io/a/b:v2", Reason: "not found"}}, Withheld: []mirror.Withheld{{Catalog: "quay.io/c:v4", Missing: []string{"quay.io/a/b:v2"}}}},
	})
	if err := errors.Join(s.AuditError(), s.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := workspace.Audit(dir, -1)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, e := range r.Last {
		events = append(events, string(e.Event))
	}
	if want := append(append([]string{"run-began"}, slices.Repeat([]string{"gate"}, 8)...), "withheld", "image-failed", "run-ended"); !slices.Equal(events, want) {
		t.Errorf("events %q, want %q", events, want)
	}
	text, err := os.ReadFile(filepath.Join(dir, "audit.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") || !strings.HasPrefix(r.Last[0].By, "ci, process ") {
		t.Errorf("audit log:\n%s", text)
	}
	if err := os.WriteFile(filepath.Join(dir, "audit.ndjson"), []byte(strings.Replace(string(text), "refused", "allowed", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := workspace.Audit(dir, 0); advice.KindOf(err) != advice.Mismatch || len(r.Problems) == 0 || len(r.Last) != 0 {
		t.Errorf("Audit = %+v, %v", r, err)
	}
	if err := os.Remove(filepath.Join(dir, "audit.ndjson")); err != nil {
		t.Fatal(err)
	}
	if r, err := workspace.Audit(dir, 0); advice.KindOf(err) != advice.Mismatch || len(r.Problems) != 1 {
		t.Errorf("Audit = %+v, %v", r, err)
	}
}

// TestAuditUnwritable checks that no run begins if its audit log cannot be written.
func TestAuditUnwritable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "workspace")
	if err := os.MkdirAll(filepath.Join(dir, "audit.ndjson"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := workspace.OpenSession((&env.Env{Home: t.TempDir()}), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if err := s.BeginAudit("mirror", "docker://mirror.example.com", "zoo"); err == nil {
		t.Error("the run begins without an audit log")
	}
}
