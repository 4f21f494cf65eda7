//go:build unix

package regular

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestInputPipe checks that a pipe without a writer is an error and that one with a writer is read,
// even if it is opened later.
func TestInputPipe(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "pipe")
	fail.On(t, syscall.Mkfifo(name, 0o600))
	in, err := OpenInput(name)
	fail.On(t, err)
	defer in.Close()
	in.writer = time.Millisecond
	if _, err := io.ReadAll(in); !errors.Is(err, ErrNoWriter) {
		t.Errorf("a pipe without a writer: %v", err)
	}
	in.writer = time.Minute
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(name, []byte("text"), 0) }()
	text, err := io.ReadAll(in)
	if string(text) != "text" || err != nil || <-written != nil {
		t.Errorf("read %q, %v", text, err)
	}
}

func TestInputFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	fail.On(t, os.WriteFile(name, nil, 0o600))
	in, err := OpenInput(name)
	fail.On(t, err)
	defer in.Close()
	if text, err := io.ReadAll(in); len(text) > 0 || err != nil {
		t.Errorf("an empty file: %q, %v", text, err)
	}
	if _, err := OpenInput(name + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
