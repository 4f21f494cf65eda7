package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestPowerLoss damages one file of a workspace after the other, as a power failure or a disk does. The next runs repair
// it, or name the file; without that file, they succeed. The cache never stops a run.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc, workspace := w.path("imageset.yaml"), w.path("workspace")
	runs := [][]string{
		{"mirror", "-c", isc, w.docker("/direct")},
		{"mirror", "-c", isc, "file://" + w.path("disk"), "--workspace", workspace},
		{"mirror", "--from", "file://" + w.path("disk"), w.docker("/imported"), "--workspace", workspace},
	}
	for _, run := range runs {
		w.must(run...)
	}
	saved := t.TempDir()
	fail.On(t, os.CopyFS(saved, os.DirFS(workspace)))
	// Package state has tests with all faults for each kind of file.
	faults := []func([]byte) []byte{
		func([]byte) []byte { return nil },
		func(b []byte) []byte { return b[:len(b)/2] },
		func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
	}
	all := os.Getenv("GANTRY_POWERLOSS") == "all" // the others take minutes
	for i, damaged := range damagedSets(t, saved) {
		if i%3 != 0 && !all {
			continue
		}
		t.Run(damaged[0], func(t *testing.T) {
			fail.On(t, os.RemoveAll(workspace))
			fail.On(t, os.CopyFS(workspace, os.DirFS(saved)))
			for _, name := range damaged {
				text, err := os.ReadFile(filepath.Join(saved, name))
				if err == nil && len(text) > 0 {
					err = os.WriteFile(filepath.Join(workspace, name), faults[i/3%len(faults)](text), 0o600)
				}
				fail.On(t, err)
			}
			w.repairs(t, damaged, runs)
		})
	}
}

// damagedSets returns the files of a workspace, each alone, and those in the cache also together.
func damagedSets(t *testing.T, dir string) (sets [][]string) {
	t.Helper()
	var cache []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.Type().IsRegular() || name == "lock":
		case strings.HasPrefix(name, "cache/blobs/"):
			cache = append(cache, name)
		default:
			sets = append(sets, []string{name})
			if strings.HasPrefix(name, "cache/") {
				cache = append(cache, name)
			}
		}
		return err
	})
	fail.On(t, err)
	return append(sets, cache)
}

// repairs runs commands in a damaged workspace.
func (w *fixture) repairs(t *testing.T, damaged []string, runs [][]string) {
	t.Helper()
	name := damaged[0]
	noticed := false
	for _, run := range runs {
		o := w.gantry(run...)
		noticed = noticed || strings.Contains(o.stderr, name)
		if o.code == exitMismatch && noticed && !strings.HasPrefix(name, "cache/") {
			fail.On(t, os.RemoveAll(w.path("workspace/"+name)))
			if folder, ok := strings.CutSuffix(name, ".txt"); ok && !strings.Contains(name, "/") { // as the hint says
				fail.On(t, os.RemoveAll(w.path("workspace/"+folder)))
			}
			if strings.Contains(o.stderr, "--base none") { // nothing knows what that archive contains
				run = append(slices.Clone(run), "--full")
			}
			o = w.gantry(run...)
		}
		if o.code != exitOK {
			t.Errorf("%v ended with %d\n%s", run, o.code, o.stderr)
		}
	}
	if must := []string{"plans/imageset.json", "leases.json", "runs.json", "recorded.json"}; slices.Contains(must, name) && !noticed {
		t.Errorf("no output names %s", name)
	}
}
