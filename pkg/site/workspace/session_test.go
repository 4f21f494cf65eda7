package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
)

// newEnv returns an Env in which nothing of the user is read.
func newEnv(t *testing.T) *env.Env {
	t.Helper()
	e := &env.Env{Home: t.TempDir(), Getenv: func(string) string { return "" }}
	t.Cleanup(e.Close)
	return e
}

// TestSession opens a workspace, which another session cannot open, and its audit log.
func TestSession(t *testing.T) {
	t.Parallel()
	e, dir := newEnv(t), filepath.Join(t.TempDir(), "ws")
	if _, err := workspace.Status(dir); advice.KindOf(err) != advice.Input {
		t.Errorf("there is no workspace yet: %v", err)
	}
	s, err := workspace.OpenSession(e, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workspace.OpenSession(newEnv(t), dir); advice.KindOf(err) != advice.Locked {
		t.Errorf("a second session: %v", err)
	}
	if err := s.BeginAudit("mirror", "docker://mirror.example.com/ocp", "zoo"); err != nil {
		t.Fatal(err)
	}
	s.Audit(audit.Entry{Event: audit.Gate, Subject: "quay.io/a/b:v1", Result: "refused"}, audit.Entry{Event: audit.RunEnded, Result: "failed"})
	if err := s.AuditError(); err != nil {
		t.Fatal(err)
	}
	s.Release()
	status, err := workspace.Status(env.ArchiveScheme + dir)
	if err != nil || status.Workspace != dir || status.Runs == nil {
		t.Errorf("%+v, %v", status, err)
	}
	r, err := workspace.Audit(dir, 2)
	if err != nil || len(r.Last) != 2 || r.Last[1].Event != audit.RunEnded {
		t.Fatalf("%+v, %v", r, err)
	}
	file := filepath.Join(dir, "audit.ndjson")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "refused", "accepted", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = workspace.Audit(dir, -1); advice.KindOf(err) != advice.Mismatch || len(r.Problems) == 0 {
		t.Errorf("a changed log: %+v, %v", r, err)
	}
	if s, err = workspace.OpenSession(e, dir); err != nil {
		t.Fatal(err)
	}
	s.Release()
}

// TestFolders checks where the cache is, and the hints for folders that cannot be written to.
func TestFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, shared := newEnv(t), newEnv(t)
	shared.CacheDir = env.ArchiveScheme + filepath.Join(dir, "shared")
	if got := workspace.CacheDir(own, dir); got != filepath.Join(dir, "cache") {
		t.Errorf("the cache of a workspace is %s", got)
	}
	if got := workspace.CacheDir(shared, dir); got != filepath.Join(dir, "shared", env.SharedCache) {
		t.Errorf("the shared cache is %s", got)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := workspace.OpenSession(own, filepath.Join(file, "ws")); !strings.Contains(env.ErrorText(err), "set Options.Workspace to a folder that can be written to") {
		t.Errorf("a workspace below a file: %v", err)
	}
	shared.CacheDir = file
	if _, err := workspace.OpenSession(shared, filepath.Join(dir, "ws")); !strings.Contains(env.ErrorText(err), "set Options.CacheDir to a folder that can be written to") {
		t.Errorf("a cache below a file: %v", err)
	}
	other := errors.New("other")
	if err := workspace.AdviseWorkspace(other); !errors.Is(err, other) || advice.Hint(err) != "" {
		t.Error(err)
	}
	if !slices.Equal(workspace.Layouts(), []string{workspace.GantryLayout, workspace.OCMirrorLayout}) {
		t.Error(workspace.Layouts())
	}
}

// TestSourcesWithoutWorkspace opens sources for verbs that need no workspace: nothing is written to a folder that does not
// exist.
func TestSourcesWithoutWorkspace(t *testing.T) {
	t.Parallel()
	e, dir := newEnv(t), filepath.Join(t.TempDir(), "ws")
	s, err := workspace.OpenSources(e, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer workspace.CloseSources(e, s)
	folder := t.TempDir()
	text := `{"schema":"olm.package","name":"kite","defaultChannel":"stable"}` +
		`{"schema":"olm.channel","package":"kite","name":"stable","entries":[{"name":"kite.v1.0.0"}]}` +
		`{"schema":"olm.bundle","package":"kite","name":"kite.v1.0.0","image":"quay.io/kite:v1","properties":[{"type":"olm.package","value":{"packageName":"kite","version":"1.0.0"}}]}`
	if err := os.WriteFile(filepath.Join(folder, "catalog.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	from, err := s.Open(t.Context(), "dir://"+folder)
	if err != nil || from == nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), "dir://"+filepath.Join(folder, "absent")); advice.KindOf(err) != advice.Input {
		t.Errorf("a folder that does not exist: %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the workspace was created")
	}
}
