package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

func open(t *testing.T, dir string) *Workspace {
	t.Helper()
	w, err := Open(dir)
	fail.On(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func TestOpenLocks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	w := open(t, dir)
	_, err := Open(dir)
	var locked *lockfile.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("second Open = %v, want a LockedError", err)
	}
	if !strings.Contains(locked.Owner, "process ") {
		t.Errorf("the error does not name the holder: %v", err)
	}
	fail.On(t, w.Close())
	open(t, dir)
}

// TestOpenSweeps checks that temporary files of killed runs are deleted at once, except for those of
// the cache, which other runs may use.
func TestOpenSweeps(t *testing.T) {
	dir := t.TempDir()
	fillState(t, open(t, filepath.Join(dir, "ws")), "first")
	ws := filepath.Join(dir, "ws")
	fail.On(t, os.MkdirAll(filepath.Join(ws, "cache/blobs"), 0o755))
	for _, name := range []string{".", "plans", "mirrors", "archives/ops", "receipts/m", "cluster-resources", "cache/blobs"} {
		fail.On(t, os.WriteFile(filepath.Join(ws, name, ".tmp-X"), []byte("half"), 0o600))
	}
	if err := os.Remove(filepath.Join(ws, "lock")); err != nil { // as if the run was killed
		t.Fatal(err)
	}
	open(t, ws)
	var left []string
	if err := filepath.WalkDir(ws, func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(path, ".tmp-") {
			left = append(left, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	fail.Diff(t, []string{filepath.Join(ws, "cache/blobs/.tmp-X")}, left)
}

func TestSaveResources(t *testing.T) {
	w := open(t, t.TempDir())
	save := func(mirror string, files ...resources.File) (string, []string) {
		t.Helper()
		dir, removed, err := w.SaveResources(mirror, files)
		fail.On(t, err)
		return dir, removed
	}
	names := func(dir string) (got []string) {
		entries, err := os.ReadDir(dir)
		fail.On(t, err)
		got = append(got, elements.Map(entries, func(e os.DirEntry) string { return e.Name() })...)
		return got
	}
	first, removed := save("one", resources.File{Name: "a.yaml", Text: []byte("1")}, resources.File{Name: "b.yaml", Text: []byte("2")})
	if removed != nil || filepath.Base(first) != "cluster-resources" {
		t.Errorf("first: %s, %v removed", first, removed)
	}
	fail.On(t, os.WriteFile(filepath.Join(first, "mine.yaml"), []byte("x"), 0o600))
	// Another mirror has a folder of its own.
	second, _ := save("two", resources.File{Name: "z.yaml", Text: []byte("z")})
	fail.Diff(t, "cluster-resources-two", filepath.Base(second))
	again, removed := save("one", resources.File{Name: "b.yaml", Text: []byte("3")}, resources.File{Name: "c.yaml", Text: []byte("4")})
	if diff := cmp.Diff([]string{"a.yaml"}, removed); diff != "" || again != first {
		t.Errorf("again: %s, removed: %s", again, diff)
	}
	fail.Diff(t, []string{"b.yaml", "c.yaml", "mine.yaml"}, names(first))
	if got, _ := os.ReadFile(filepath.Join(first, "b.yaml")); string(got) != "3" {
		t.Errorf("b.yaml = %q", got)
	}
	fail.Diff(t, []string{"z.yaml"}, names(second))
}

func TestSaveResourcesLeavesWhatDidNotChange(t *testing.T) {
	w := open(t, t.TempDir())
	stat := func(name string) os.FileInfo {
		t.Helper()
		info, err := os.Stat(filepath.Join(w.dir, name))
		fail.On(t, err)
		return info
	}
	var before []os.FileInfo
	all := []string{"cluster-resources/same.yaml", "cluster-resources.txt", "cluster-resources/other.yaml"}
	for i, text := range []string{"1", "2"} {
		if _, _, err := w.SaveResources("one", []resources.File{{Name: "other.yaml", Text: []byte(text)}, {Name: "same.yaml", Text: []byte("x")}}); err != nil {
			t.Fatal(err)
		}
		for j, name := range all {
			if i == 0 {
				before = append(before, stat(name))
			} else if same := os.SameFile(before[j], stat(name)); same != (j < 2) {
				t.Errorf("%s is the same file: %t", name, same)
			}
		}
	}
}

func TestJournal(t *testing.T) {
	w := open(t, t.TempDir())
	a, b := digest.FromString("a"), digest.FromString("b")
	j, err := w.Journal("mirror")
	fail.On(t, err)
	if j.Has("org/x", a) {
		t.Error("a new journal has something")
	}
	fail.On(t, errors.Join(j.Add("org/x", a), j.Done(false)))
	if j, err = w.Journal("mirror"); err != nil {
		t.Fatal(err)
	}
	if !j.Has("org/x", a) || j.Has("org/x", b) || j.Has("org/y", a) {
		t.Errorf("after an unfinished run: %v %v %v, want true false false", j.Has("org/x", a), j.Has("org/x", b), j.Has("org/y", a))
	}
	fail.On(t, j.Done(true))
	if j, err = w.Journal("mirror"); err != nil || j.Has("org/x", a) {
		t.Errorf("after a finished run the journal is still there: %v", err)
	}
	fail.On(t, j.Done(true))
}

func TestConfiguration(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	want := func(name, path string) {
		t.Helper()
		if got, err := w.Configuration(name); got != path || err != nil {
			t.Errorf("%s is %q, %v; want %q", name, got, err, path)
		}
	}
	want("a", "")
	for _, c := range [][2]string{{"a", "/one/a.yaml"}, {"b", "/b.yaml"}, {"a", "/two/a.yaml"}} {
		fail.On(t, w.SaveConfiguration(c[0], c[1]))
	}
	want("a", "/two/a.yaml")
	want("b", "/b.yaml")
	fail.On(t, w.Close())
	w = open(t, dir)
	want("a", "/two/a.yaml")
	fail.On(t, errors.Join(w.Close(), os.Remove(filepath.Join(dir, checksumFile))))
	w = open(t, dir)
	for _, text := range []string{"{", `{"a": 1}`} {
		fail.On(t, os.WriteFile(filepath.Join(dir, "configurations.json"), []byte(text), 0o600))
		if _, err := w.Configuration("a"); err == nil || !strings.Contains(err.Error(), "configurations.json") || !strings.Contains(advice.Hint(err), "remove it") {
			t.Errorf("%s: %v", text, err)
		}
	}
	fail.On(t, os.WriteFile(filepath.Join(dir, "configurations.json"), []byte("null"), 0o600))
	fail.On(t, w.SaveConfiguration("a", "/x"))
}

func TestSaveFolder(t *testing.T) {
	w := open(t, t.TempDir())
	save := func(mirror string, names ...string) (string, []string) {
		t.Helper()
		files := elements.Map(names, func(name string) resources.File { return resources.File{Name: name, Text: []byte(name)} })
		dir, removed, err := w.SaveFolder("hosts", mirror, files)
		fail.On(t, err)
		return dir, removed
	}
	if dir, removed := save("one"); dir != "" || removed != nil {
		t.Errorf("without files: %q, %v removed", dir, removed)
	}
	dir, _ := save("one", "certs.d/quay.io/hosts.toml", "k3s.yaml")
	if text, err := os.ReadFile(filepath.Join(dir, "certs.d", "quay.io", "hosts.toml")); filepath.Base(dir) != "hosts" || err != nil || string(text) != "certs.d/quay.io/hosts.toml" {
		t.Errorf("%s has %q, %v", dir, text, err)
	}
	if second, _ := save("two", "k3s.yaml"); filepath.Base(second) != "hosts-two" {
		t.Errorf("the second mirror's folder is %s", second)
	}
	if _, removed := save("one"); !slices.Equal(removed, []string{"certs.d/quay.io/hosts.toml", "k3s.yaml"}) {
		t.Errorf("removed: %v", removed)
	}
	if _, err := os.Stat(filepath.Join(dir, "certs.d")); !os.IsNotExist(err) {
		t.Errorf("an empty folder stays: %v", err)
	}
}
