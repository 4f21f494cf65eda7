//go:build unix

package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestPipesDoNotBlock checks that each way to open a file returns if it is a pipe that no process has
// open.
func TestPipesDoNotBlock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	fail.On(t, errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("pipe", filepath.Join(dir, "link"))))
	root, err := os.OpenRoot(dir)
	fail.On(t, err)
	defer root.Close()
	for name, open := range map[string]func() error{
		"OpenPath":         func() error { _, _, err := OpenPath(pipe); return err },
		"ReadPath, a link": func() error { _, _, err := ReadPath(filepath.Join(dir, "link"), 1); return err },
		"Open":             func() error { _, _, err := Open(root, "pipe"); return err },
		"Edit":             func() error { _, err := Edit(root, "pipe", os.O_CREATE, 0o600); return err },
		"FS":               func() error { _, err := FS(root).Open("pipe"); return err },
		"FS, a link":       func() error { _, err := fs.ReadFile(FS(root), "link"); return err },
	} {
		if err := open(); err == nil || !strings.HasSuffix(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := openOutput(pipe, os.O_WRONLY, 0, time.Millisecond); !errors.Is(err, ErrNoReader) {
		t.Errorf("writing to a pipe without a reader: %v", err)
	}
}

// TestOutputPipe checks that a pipe is written to whose reader comes later.
func TestOutputPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	fail.On(t, syscall.Mkfifo(pipe, 0o600))
	read := make(chan string, 1)
	go func() {
		text, _ := os.ReadFile(pipe) // an empty text fails the test
		read <- string(text)
	}()
	f, err := openOutput(pipe, os.O_WRONLY, 0, time.Minute)
	fail.On(t, err)
	_, err = io.WriteString(f, "text")
	fail.On(t, errors.Join(err, f.Close()))
	fail.Diff(t, "text", <-read)
}

// TestFS checks FS against the contract of fs.FS.
func TestFS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fail.On(t, errors.Join(os.Mkdir(filepath.Join(dir, "sub"), 0o700), os.WriteFile(filepath.Join(dir, "sub", "file"), []byte("text"), 0o600)))
	root, err := os.OpenRoot(dir)
	fail.On(t, err)
	defer root.Close()
	fail.On(t, fstest.TestFS(FS(root), "sub/file"))
}

// TestReadLimits checks that larger files are an error.
func TestReadLimits(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	fail.On(t, os.WriteFile(name, []byte("text"), 0o600))
	for what, read := range map[string]func(string, int64) ([]byte, fs.FileInfo, error){"ReadPath": ReadPath, "ReadInput": ReadInput} {
		if text, info, err := read(name, 4); string(text) != "text" || err != nil || info.Size() != 4 {
			t.Errorf("%s: %q, %v", what, text, err)
		}
		if _, _, err := read(name, 3); err == nil || !strings.Contains(err.Error(), "more than the 3 bytes") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
