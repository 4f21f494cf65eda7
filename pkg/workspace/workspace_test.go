package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/lockfile"
)

func open(t *testing.T, dir string) *Workspace {
	t.Helper()
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func TestOpenLocks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	w := open(t, dir)
	_, err := Open(dir)
	var held *lockfile.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("second Open = %v, want a HeldError", err)
	}
	if !strings.Contains(held.Holder, "process ") {
		t.Errorf("the error does not name the holder: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
}

func TestSaveResources(t *testing.T) {
	w := open(t, t.TempDir())
	foreign := filepath.Join(w.ResourcesDir(), "mine.yaml")
	names := func() (got []string) {
		entries, err := os.ReadDir(w.ResourcesDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			got = append(got, e.Name())
		}
		return got
	}
	if removed, err := w.SaveResources([]File{{"a.yaml", []byte("1")}, {"b.yaml", []byte("2")}}); err != nil || removed != nil {
		t.Fatalf("first: %v, %v", removed, err)
	}
	if err := os.WriteFile(foreign, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	removed, err := w.SaveResources([]File{{"b.yaml", []byte("3")}, {"c.yaml", []byte("4")}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.yaml"}, removed); diff != "" {
		t.Errorf("removed: %s", diff)
	}
	if diff := cmp.Diff([]string{"b.yaml", "c.yaml", "mine.yaml"}, names()); diff != "" {
		t.Errorf("files: %s", diff)
	}
	if got, _ := os.ReadFile(filepath.Join(w.ResourcesDir(), "b.yaml")); string(got) != "3" {
		t.Errorf("b.yaml = %q", got)
	}
}

func TestJournal(t *testing.T) {
	w := open(t, t.TempDir())
	a, b := digest.FromString("a"), digest.FromString("b")
	j, err := w.Journal("mirror")
	if err != nil {
		t.Fatal(err)
	}
	if j.Has("org/x", a) {
		t.Error("a new journal has something")
	}
	if err := errors.Join(j.Add("org/x", a), j.Done(false)); err != nil {
		t.Fatal(err)
	}
	if j, err = w.Journal("mirror"); err != nil {
		t.Fatal(err)
	}
	if !j.Has("org/x", a) || j.Has("org/x", b) || j.Has("org/y", a) {
		t.Errorf("after an unfinished run: %v %v %v, want true false false", j.Has("org/x", a), j.Has("org/x", b), j.Has("org/y", a))
	}
	if err := j.Done(true); err != nil {
		t.Fatal(err)
	}
	if j, err = w.Journal("mirror"); err != nil || j.Has("org/x", a) {
		t.Errorf("after a finished run the journal is still there: %v", err)
	}
	if err := j.Done(true); err != nil {
		t.Fatal(err)
	}
}
