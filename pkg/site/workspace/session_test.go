package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
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
	fail.On(t, err)
	if _, err := workspace.OpenSession(newEnv(t), dir); advice.KindOf(err) != advice.Locked {
		t.Errorf("a second session: %v", err)
	}
	fail.On(t, s.BeginAudit("mirror", "docker://mirror.example.com/ocp", "zoo"))
	s.Audit(audit.Entry{Event: audit.Gate, Subject: "quay.io/a/b:v1", Result: "refused"}, audit.Entry{Event: audit.RunEnded, Result: "failed"})
	fail.On(t, s.AuditError())
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
	fail.On(t, err)
	fail.On(t, os.WriteFile(file, []byte(strings.Replace(string(text), "refused", "accepted", 1)), 0o600))
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
	fail.On(t, os.WriteFile(file, nil, 0o600))
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
	fail.On(t, err)
	defer workspace.CloseSources(e, s)
	folder := t.TempDir()
	text := `{"schema":"olm.package","name":"kite","defaultChannel":"stable"}` +
		`{"schema":"olm.channel","package":"kite","name":"stable","entries":[{"name":"kite.v1.0.0"}]}` +
		`{"schema":"olm.bundle","package":"kite","name":"kite.v1.0.0","image":"quay.io/kite:v1","properties":[{"type":"olm.package","value":{"packageName":"kite","version":"1.0.0"}}]}`
	fail.On(t, os.WriteFile(filepath.Join(folder, "catalog.json"), []byte(text), 0o600))
	for _, arg := range []string{folder, "dir://" + folder} {
		if c, err := s.Read(t.Context(), arg, catalog.Options{}); err != nil || len(c.Packages) != 1 {
			t.Errorf("%s: %+v, %v", arg, c, err)
		}
	}
	for arg, words := range map[string]string{
		"dir://" + filepath.Join(folder, "absent"): "no such file",
		filepath.Join(folder, "absent"):            "no such file",
		"catalog":                                  "is not a file or folder",
		"docker://quay.io/UPPER:v1":                "UPPER",
	} {
		if _, err := s.Read(t.Context(), arg, catalog.Options{}); advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", arg, err)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the workspace was created")
	}
}

// TestUnusableFolders checks that a run does not begin, and what to do, if its audit log, its workspace or its cache cannot
// be written.
func TestUnusableFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fail.On(t, errors.Join(os.MkdirAll(filepath.Join(dir, "ws", "audit.ndjson"), 0o700), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)))
	e := newEnv(t)
	s, err := workspace.OpenSession(e, filepath.Join(dir, "ws"))
	fail.On(t, err)
	defer s.Release()
	if err := s.BeginAudit("mirror", "docker://mirror.example.com", "zoo"); !strings.Contains(advice.Hint(err), "no run begins") || s.AuditError() == nil {
		t.Errorf("the run begins without an audit log: %v", err)
	}
	if _, err := workspace.OpenSession(e, filepath.Join(dir, "file", "ws")); !strings.Contains(advice.Hint(err), "Options.Workspace") {
		t.Errorf("a file is no workspace: %v", err)
	}
	e.CacheDir = filepath.Join(dir, "file")
	if _, err := workspace.OpenSession(e, filepath.Join(dir, "other")); !strings.Contains(advice.Hint(err), "Options.CacheDir") {
		t.Errorf("a file is no cache: %v", err)
	}
	if _, err := workspace.OpenSources(e, filepath.Join(dir, "other")); !strings.Contains(advice.Hint(err), "Options.CacheDir") {
		t.Errorf("a file is no cache: %v", err)
	}
}
