package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// once returns an action that calls do before the first request. All requests are answered as
// usual.
func once(do func()) registrytest.Action {
	var first sync.Once
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		first.Do(do)
		next.ServeHTTP(w, r)
	}
}

// medium mounts a file system of the given size in MiB, which a test may fill or remove. It skips
// the test if mounting is not possible.
func (w *fixture) medium(name string, size int) string {
	w.t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		w.t.Skip("mounting needs Linux and root")
	}
	dir := w.path(name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if out, err := exec.CommandContext(w.t.Context(), "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", size), "tmpfs", dir).CombinedOutput(); err != nil {
		w.t.Skipf("mounting: %v: %s", err, out)
	}
	w.t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			w.t.Errorf("unmounting: %v: %s", err, out)
		}
	})
	return dir
}

// contents returns the size and hash of each file in a folder, by name. It ignores subfolders, such
// as the one for unfinished work.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = fmt.Sprintf("%d bytes, %x", len(raw), sha256.Sum256(raw))
	}
	return files
}

// manifestOf changes the set manifest in a folder and updates its checksum file.
func manifestOf(t *testing.T, dir string, change func([]byte) []byte) {
	t.Helper()
	name := filepath.Join(dir, "gantry-000001.json")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	altered := change(text)
	if bytes.Equal(altered, text) {
		t.Fatal("nothing was changed")
	}
	sum := fmt.Sprintf("%x  %s\n", sha256.Sum256(altered), filepath.Base(name))
	if err := errors.Join(os.WriteFile(name, altered, 0o600), os.WriteFile(name+".sha256", []byte(sum), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestWrongDisk checks volumes and set manifests that were exchanged, renamed, truncated or written
// by another version. If an archive is refused, the mirror is not changed.
func TestWrongDisk(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	w.disk("a")
	w.must("mirror", "-c", w.config("store.yaml", storeOnly), fileScheme+w.path("b"), "--name", "imageset", "--workspace", w.path("elsewhere"))
	w.must("mirror", "-c", w.config("store.yaml", storeOnly), fileScheme+w.path("c"), "--name", "other")
	const first, second, manifest = "gantry-000001.0001.tar", "gantry-000001.0002.tar", "gantry-000001.json"
	replace := func(t *testing.T, to, from string) {
		t.Helper()
		raw, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name   string
		code   int
		words  []string
		change func(t *testing.T, dir string)
		also   []string // folders
	}{
		{"a volume of another set", exitMismatch, []string{second}, func(t *testing.T, dir string) {
			replace(t, filepath.Join(dir, second), w.path("b/"+first))
		}, nil},
		{"volumes that were exchanged", exitOK, nil, func(t *testing.T, dir string) {
			replace(t, filepath.Join(dir, second), w.path("a/"+first))
			replace(t, filepath.Join(dir, first), w.path("a/"+second))
		}, nil},
		{"renamed volumes", exitOK, nil, func(t *testing.T, dir string) {
			if err := errors.Join(os.Rename(filepath.Join(dir, first), filepath.Join(dir, "January (1).tar")), os.Rename(filepath.Join(dir, second), filepath.Join(dir, "2"))); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"a renamed set manifest", exitMismatch, []string{"gantry-000002.json", "renamed"}, func(t *testing.T, dir string) {
			raw, err := os.ReadFile(filepath.Join(dir, manifest))
			if err != nil {
				t.Fatal(err)
			}
			sum := fmt.Sprintf("%x  gantry-000002.json\n", sha256.Sum256(raw))
			if err := errors.Join(os.Rename(filepath.Join(dir, manifest), filepath.Join(dir, "gantry-000002.json")), os.WriteFile(filepath.Join(dir, "gantry-000002.json.sha256"), []byte(sum), 0o600)); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"the set manifest of another set", exitMismatch, []string{manifest}, func(t *testing.T, dir string) {
			replace(t, filepath.Join(dir, manifest), w.path("b/"+manifest))
		}, nil},
		{"the set manifest of another set and its checksum", exitMismatch, []string{first}, func(t *testing.T, dir string) {
			replace(t, filepath.Join(dir, manifest), w.path("b/"+manifest))
			replace(t, filepath.Join(dir, manifest+".sha256"), w.path("b/"+manifest+".sha256"))
		}, nil},
		{"no checksum file", exitMismatch, []string{manifest + ".sha256"}, func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, manifest+".sha256")); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"a volume that was cut off", exitMismatch, []string{second}, func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, second), 4096); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"a later format", exitError, []string{"format 2", "later Gantry"}, func(t *testing.T, dir string) {
			manifestOf(t, dir, func(text []byte) []byte { return bytes.Replace(text, []byte(`"format":1`), []byte(`"format":2`), 1) })
		}, nil},
		{"an earlier format", exitError, []string{"format 0", "the Gantry that wrote it"}, func(t *testing.T, dir string) {
			manifestOf(t, dir, func(text []byte) []byte { return bytes.Replace(text, []byte(`"format":1`), []byte(`"format":0`), 1) })
		}, nil},
		{"a feature of a later version", exitError, []string{"hologram", "does not know"}, func(t *testing.T, dir string) {
			manifestOf(t, dir, func(text []byte) []byte {
				return bytes.Replace(text, []byte(`"features":[]`), []byte(`"features":["hologram"]`), 1)
			})
		}, nil},
		{"two sets with the same number", exitUsage, []string{manifest, w.path("b"), "name the folders of one"}, nil, []string{w.path("b")}},
		{"two series", exitUsage, []string{w.path("c"), "name the folders of one"}, nil, []string{w.path("c")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := *w
			w.t = t
			dir := filepath.Join(t.TempDir(), "disk")
			if err := os.CopyFS(dir, os.DirFS(w.path("a"))); err != nil {
				t.Fatal(err)
			}
			if tc.change != nil {
				tc.change(t, dir)
			}
			args := []string{fileScheme + dir}
			for _, other := range tc.also {
				args = append(args, fileScheme+other)
			}
			w.mirror.ResetLog()
			if tc.code == exitOK {
				w.must(append([]string{"verify"}, args...)...)
				w.must("mirror", "--from", args[0], w.docker("/"+strings.ReplaceAll(tc.name, " ", "-")))
				return
			}
			if o := w.gantry(append([]string{"verify"}, args...)...); o.code != tc.code {
				t.Errorf("verify ended with %d\n%s%s", o.code, o.stdout, o.stderr)
			} else {
				w.says(o.stdout+o.stderr, tc.words...)
			}
			from := []string{"mirror", w.docker("/no")}
			for _, arg := range args {
				from = append(from, "--from", arg)
			}
			w.refuse(tc.code, tc.words, from...)
			for _, r := range w.mirror.Log() {
				if r.Method != http.MethodGet && r.Method != http.MethodHead {
					t.Errorf("the mirror was changed: %s %s", r.Method, r.Path)
				}
			}
		})
	}
}

// TestReadOnlyDisk checks that an archive on a read-only disk can be read.
func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	dir := w.medium("medium", 64)
	disk, _, _ := w.disk("medium")
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,ro", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	before := contents(t, dir)
	for _, args := range [][]string{
		{"verify", disk}, {"archive", "inspect", disk}, {"archive", "list", disk}, {"archive", "extract", disk, "--to", w.path("layout")},
	} {
		w.looked(exitOK, args...)
	}
	w.looked(exitOK, "archive", "repair-request", disk)
	w.must("mirror", "--from", disk, w.docker("/ro"))
	o := w.must("mirror", "-c", w.path("imageset.yaml"), disk, "--volume-size", "0.5MB")
	w.says(o.stdout, "Nothing to copy")
	w.refuse(exitError, []string{"read-only"}, "mirror", "-c", w.config("store.yaml", storeOnly), disk, "--name", "imageset")
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestDiskFull checks that a disk that fills up during a run keeps its existing archive and the new
// content. After space is freed, the same command continues.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	dir := w.medium("medium", 32)
	disk := fileScheme + dir
	w.must("mirror", "-c", w.config("store.yaml", storeOnly), disk, "--name", "imageset")
	before := contents(t, dir)
	filler := filepath.Join(dir, "holiday.mov")
	fill := func() {
		f, err := os.Create(filler)
		if err != nil {
			t.Error(err)
			return
		}
		for err == nil {
			_, err = f.Write(make([]byte, 64<<10))
		}
		_ = f.Close() // the disk is full
	}
	w.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/blobs/", Nth: 20, Action: once(fill)})
	all := []string{"mirror", "-c", w.path("imageset.yaml"), disk, "--name", "imageset"}
	w.refuse(exitNoSpace, []string{"space", dir}, all...)
	after := contents(t, dir)
	delete(after, filepath.Base(filler))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the existing archive was changed: %s", diff)
	}
	w.must("verify", disk)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	w.must(all...)
	w.must("verify", disk)
	if _, err := os.Stat(filepath.Join(dir, ".gantry-partial")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("unfinished work is left: %v", err)
	}
}

// TestDiskRemovedWhileWriting checks that a disk that is removed during the run contains no archive
// afterwards.
func TestDiskRemovedWhileWriting(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	dir := w.path("medium")
	gone := func() {
		if err := errors.Join(os.Rename(dir, w.path("pulled")), os.Mkdir(dir, 0o755), os.RemoveAll(w.path("pulled"))); err != nil {
			t.Error(err)
		}
	}
	w.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/blobs/", Nth: 20, Action: once(gone)})
	o := w.gantry("mirror", "-c", w.path("imageset.yaml"), fileScheme+dir)
	if o.code == exitOK || !strings.Contains(o.stderr, dir) {
		t.Errorf("it ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	for name := range contents(t, dir) {
		t.Errorf("%s is left in the folder", name)
	}
	w.must("mirror", "-c", w.path("imageset.yaml"), fileScheme+dir)
	w.must("verify", fileScheme+dir)
}

// TestDiskRemovedWhileReading checks that a disk that is removed during an import loses only the
// content that was not read yet. No tag names an incomplete image. When the disk is back, the same
// command copies the rest.
func TestDiskRemovedWhileReading(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	disk, have, p := w.disk("medium")
	spare := t.TempDir()
	if err := os.CopyFS(spare, os.DirFS(w.path("medium"))); err != nil {
		t.Fatal(err)
	}
	var volumes []string
	for _, v := range have.Selected().Volumes {
		volumes = append(volumes, v.Name)
	}
	gone := func() {
		for _, name := range volumes {
			if err := os.Truncate(filepath.Join(w.path("medium"), name), 0); err != nil {
				t.Error(err)
			}
		}
	}
	w.mirror.Script(registrytest.Rule{Method: http.MethodPost, Path: "/blobs/uploads/", Nth: 10, Action: once(gone)})
	o := w.gantry("mirror", "--from", disk, w.docker("/gone"))
	if o.code != exitMismatch || !strings.Contains(o.stderr, "gantry-000001.00") {
		t.Errorf("it ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	o = w.gantry("verify", disk)
	if o.code != exitMismatch || slices.ContainsFunc(volumes, func(name string) bool { return !strings.Contains(o.stdout, name) }) {
		t.Errorf("verify ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if err := os.RemoveAll(w.path("medium")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(w.path("medium"), os.DirFS(spare)); err != nil {
		t.Fatal(err)
	}
	w.must("mirror", "--from", disk, w.docker("/gone"))
	o = w.must("verify", "--from", disk, w.docker("/gone"))
	w.says(o.stdout, fmt.Sprintf("All %d images", len(p.Images)))
}
