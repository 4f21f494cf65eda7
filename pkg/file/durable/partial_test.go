package durable

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// begin writes the beginning of a file, and keeps it.
func begin(t *testing.T, f Folder, name, key, text string) {
	t.Helper()
	p, err := f.Partial(name, key, 0o644)
	fail.On(t, err)
	_, err = p.Write([]byte(text))
	fail.On(t, err)
	fail.On(t, p.Keep())
}

func TestPartialContinues(t *testing.T) {
	f := folder(t)
	begin(t, f, "sub/disk.iso", "1", "begin")
	p, err := f.Partial("sub/disk.iso", "1", 0o644)
	if err != nil || p.Size() != 5 {
		t.Fatalf("%v, %d bytes", err, p.Size())
	}
	fail.On(t, p.Resume(3))
	_, err = p.Write([]byte("ged"))
	fail.On(t, err)
	fail.On(t, p.Commit("sub/disk.iso"))
	if got, err := fs.ReadFile(f.Root.FS(), "sub/disk.iso"); err != nil || string(got) != "begged" {
		t.Errorf("%q, %v", got, err)
	}
	fail.Diff(t, []string{"sub/disk.iso"}, names(t, f))
}

// TestPartialRemoves checks that what earlier runs left of other content is removed, and nothing else.
func TestPartialRemoves(t *testing.T) {
	f := folder(t)
	for _, name := range []string{"disk", "disk.iso"} {
		begin(t, f, name, "1", "x")
	}
	empty, err := f.Partial("none", "1", 0o644)
	if err != nil || empty.Keep() != nil {
		t.Fatal(err)
	}
	begin(t, f, "disk", "2", "y")
	fail.Diff(t, []string{".disk.2.partial", ".disk.iso.1.partial"}, names(t, f))
	long := strings.Repeat("é", 125)
	begin(t, f, long, "0123456789ab", "z")
}

func TestPartialInUse(t *testing.T) {
	f := folder(t)
	p, err := f.Partial("disk", "1", 0o644)
	fail.On(t, err)
	if _, err := f.Partial("disk", "1", 0o644); !errors.Is(err, ErrInUse) {
		t.Errorf("the second run: %v", err)
	}
	other, err := f.Partial("disk", "2", 0o644)
	fail.On(t, err)
	fail.On(t, errors.Join(p.Discard(), other.Discard()))
}

// TestPartialIsNoLink checks that a symbolic link of the name is replaced, and not followed.
func TestPartialIsNoLink(t *testing.T) {
	f := folder(t)
	fail.On(t, f.WriteFile("precious", []byte("text")))
	if err := f.Root.Symlink("precious", ".disk.1.partial"); err != nil {
		t.Skip(err)
	}
	begin(t, f, "disk", "1", "x")
	if got, err := fs.ReadFile(f.Root.FS(), "precious"); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
}
