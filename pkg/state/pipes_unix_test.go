//go:build unix

package state

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestPipesInWorkspace checks that a pipe in place of a state file is an error at once.
func TestPipesInWorkspace(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(dir string) error{
		checksumFile: func(dir string) error { _, err := Open(dir); return err },
		"lock":       func(dir string) error { _, err := Open(dir); return err },
		secretName: func(dir string) error {
			w, err := Open(dir)
			if err == nil {
				_, err = w.Secret()
			}
			return err
		},
		"journal/mirror.txt": func(dir string) error {
			w, err := Open(dir)
			if err == nil {
				_, err = w.Journal("mirror")
			}
			return err
		},
		resourceDir + ".txt": func(dir string) error {
			_, _, err := ReadResource(dir, "mirror", "idms.yaml")
			return err
		},
	} {
		dir := t.TempDir()
		w, err := Open(dir)
		fail.On(t, err)
		fail.On(t, w.Close())
		fail.On(t, os.RemoveAll(filepath.Join(dir, name)))
		fail.On(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
		if err := read(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
