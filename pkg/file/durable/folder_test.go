package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestMkdirAll shows only what is made. That it survives a power failure is shown in mirror/faults.
func TestMkdirAll(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	fail.On(t, err)
	defer root.Close()
	fail.On(t, root.WriteFile("file", nil, 0o600))
	fail.On(t, root.Symlink("b", "link"))
	disk := Folder{Root: root}
	for name, mkdir := range map[string]func(dir string) error{
		"a folder": disk.MkdirAll, "a path": func(dir string) error { return MkdirAll(filepath.Join(root.Name(), dir), 0o755) },
	} {
		for _, dir := range []string{"b", "b/c/d", "b/c", "link/e/f"} {
			for range 2 {
				fail.On(t, mkdir(dir))
			}
			if info, err := root.Stat(dir); err != nil || !info.IsDir() {
				t.Errorf("%s %s: %v", name, dir, err)
			}
		}
		for _, dir := range []string{"file", "file/a"} {
			if err := mkdir(dir); !errors.Is(err, syscall.ENOTDIR) {
				t.Errorf("%s %s: there was a file, and the error is %v", name, dir, err)
			}
		}
		fail.On(t, root.RemoveAll("b"))
	}
	if disk.MkdirAll("../outside") == nil {
		t.Error("a folder was made outside")
	}
}
