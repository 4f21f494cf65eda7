//go:build unix

package serve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestLocalFilesRefusePipes checks that a pipe that a configuration names is an error at once.
func TestLocalFilesRefusePipes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	fail.On(t, errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("pipe", filepath.Join(dir, "link"))))
	for _, name := range []string{pipe, filepath.Join(dir, "link")} {
		if _, err := (env.LocalFiles{}).Dir(name); err == nil || !strings.Contains(err.Error(), name+" is neither a folder nor a regular file") {
			t.Errorf("Dir: %v", err)
		}
		if _, err := (env.LocalFiles{}).ReadFile(name); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("ReadFile: %v", err)
		}
	}
	fsys, err := (env.LocalFiles{}).Dir(dir)
	fail.On(t, err)
	if _, err := fsys.Open("link"); err == nil || !strings.HasSuffix(err.Error(), "not a regular file") {
		t.Errorf("Open: %v", err)
	}
	_, err = saveServed(dir, nil)
	fail.On(t, err)
	fail.On(t, errors.Join(os.Remove(filepath.Join(dir, servedList)), syscall.Mkfifo(filepath.Join(dir, servedList), 0o600)))
	if _, err := saveServed(dir, nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("saveServed: %v", err)
	}
}
