//go:build amd64 || arm64

package faults

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestDisk loses power after a file was replaced, step by step, in a folder that is new.
func TestDisk(t *testing.T) {
	t.Parallel()
	for steps, want := range map[int][2]string{ // what "nothing stays" and "names stay" leave in a/file
		1: {"none", "none"}, 3: {"none", ""}, 4: {"none", "new"}, 5: {"none", "new"}, 6: {"new", "new"},
	} {
		for i, l := range losses()[:2] {
			dir := t.TempDir()
			d, err := newDisk(dir)
			fail.On(t, err)
			folder, file, draft := filepath.Join(dir, "a"), filepath.Join(dir, "a", "file"), filepath.Join(dir, "a", "draft")
			rename := func() error { return d.rename(draft, file, os.Rename(draft, file)) }
			actions := []func() error{
				func() error { return d.create(folder, os.ModeDir, os.Mkdir(folder, 0o755)) },
				func() error { return d.create(draft, 0o644, os.WriteFile(draft, []byte("new"), 0o644)) },
				rename,
				func() error { return d.sync(file) },
				func() error { return d.sync(folder) },
				func() error { return d.sync(dir) },
			}
			for _, do := range actions[:steps] {
				fail.On(t, do())
			}
			fail.On(t, d.fail(l, rand.New(rand.NewPCG(1, 1))))
			got := "none"
			if text, err := os.ReadFile(file); err == nil {
				got = string(text)
			}
			if got != want[i] {
				t.Errorf("%d steps, %s: %q is left, and not %q", steps, l.name, got, want[i])
			}
		}
	}
	fail.Diff(t, "AAbb", string(torn([]byte("aa"), []byte("AAbb"), func() bool { return true })))
	fail.Diff(t, "aa", string(torn([]byte("aa"), []byte("AAbb"), func() bool { return false })))
}
