//go:build unix

package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// These tests do not write to the devices of the machine: if they are run as root and the code is
// wrong, they would replace the devices.

// read returns the content of a file.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	fail.On(t, err)
	return string(text)
}

func TestWriteFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.Mkdir(at("real"), 0o755), os.Mkdir(at("real/deep"), 0o755), os.WriteFile(at("real/old"), []byte("old"), 0o600),
		os.Symlink("real/old", at("relative")), os.Symlink(at("real/old"), at("absolute")), os.Symlink("relative", at("twice")),
		os.Symlink("real/new", at("dangling")), os.Symlink("real/deep", at("folder")), os.Symlink("../up", at("real/deep/link")),
		os.Symlink("folder/../beside", at("dots")), os.Symlink("loop", at("loop")), os.Symlink("absent/x", at("nowhere")),
	); err != nil {
		t.Fatal(err)
	}
	for link, file := range map[string]string{
		"relative": "real/old", "absolute": "real/old", "twice": "real/old", "dangling": "real/new", "folder/link": "real/up",
		"dots": "real/beside", // ".." means the parent of the link's target
	} {
		if err := WriteFile(at(link), []byte(link)); err != nil {
			t.Error(err)
			continue
		}
		fail.Diff(t, link, read(t, at(file)))
		if info, err := os.Lstat(at(link)); err != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("%s was replaced: %v, %v", link, info.Mode(), err)
		}
	}
	for link, want := range map[string]error{"loop": syscall.ELOOP, "nowhere": fs.ErrNotExist, "folder": syscall.EISDIR} {
		if err := WriteFile(at(link), []byte("x")); !errors.Is(err, want) || !strings.Contains(err.Error(), at(link)) {
			t.Errorf("%s: %v, want %v", link, err, want)
		}
	}
	left, err := filepath.Glob(at("*/" + tempPrefix + "*"))
	if err != nil || left != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestWriteIntoPipe checks that a pipe is written to and not replaced.
func TestWriteIntoPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	fail.On(t, errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("pipe", link)))
	for _, name := range []string{pipe, link} {
		// Opened for reading and writing, the pipe does not block. The text fits into its buffer.
		reader, err := os.OpenFile(pipe, os.O_RDWR|syscall.O_NONBLOCK, 0)
		fail.On(t, err)
		broken := errors.New("it broke")
		err = Write(name, func(w io.Writer) error {
			_, err := io.WriteString(w, "a plan")
			return errors.Join(err, broken)
		})
		if !errors.Is(err, broken) {
			t.Errorf("Write = %v", err)
		}
		got := make([]byte, 100)
		err = reader.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, readErr := reader.Read(got)
		if err := errors.Join(err, readErr, reader.Close()); err != nil || string(got[:n]) != "a plan" {
			t.Errorf("%s: read %q, %v", name, got[:n], err)
		}
		if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
			t.Fatalf("the pipe was replaced: %v, %v", info.Mode(), err)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("the folder has %v, %v", list, err)
	}
}

// TestWriteIntoDescriptor checks that an open file or pipe is written through its /dev/fd name, so
// that a reader of the open file gets the text.
func TestWriteIntoDescriptor(t *testing.T) {
	r, w, err := os.Pipe()
	fail.On(t, err)
	fail.On(t, errors.Join(WriteFile(fmt.Sprintf("/dev/fd/%d", w.Fd()), []byte("to the pipe")), w.Close()))
	if got, err := io.ReadAll(r); err != nil || string(got) != "to the pipe" {
		t.Errorf("read %q, %v", got, err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	fail.On(t, err)
	defer file.Close()
	fail.On(t, WriteFile(fmt.Sprintf("/dev/fd/%d", file.Fd()), []byte("to the file")))
	if got, err := io.ReadAll(file); err != nil || string(got) != "to the file" {
		t.Errorf("read %q, %v", got, err)
	}
}

// TestWriteIntoStdout checks that if stdout is a file, the text is appended at the current
// position.
func TestWriteIntoStdout(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	fail.On(t, err)
	defer file.Close()
	saved := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = saved }()
	_, err = file.WriteString("before, ")
	fail.On(t, errors.Join(err, WriteFile(file.Name(), []byte("the plan"))))
	_, err = file.WriteString(", after")
	fail.On(t, err)
	fail.Diff(t, "before, the plan, after", read(t, file.Name()))
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	fail.On(t, os.Symlink("free", filepath.Join(dir, "link")))
	for path, want := range map[string]struct {
		file    string
		regular bool
	}{
		filepath.Join(dir, "link"): {filepath.Join(dir, "free"), true},
		dir:                        {dir, false},
		"/dev/fd/71":               {"/dev/fd/71", false},
		"/dev/shm/71":              {"/dev/shm/71", true},
		"/proc/self/cwd/71":        {"/proc/self/cwd/71", true},
		"/proc/self/fd/71":         {"/proc/self/fd/71", false},
		"file":                     {"file", true},
	} {
		file, regular, err := Resolve(path)
		if err != nil || file != want.file || regular != want.regular {
			t.Errorf("%s: %s, %v, %v", path, file, regular, err)
		}
	}
}
