// Package durable writes files that are whole or not there.
//
// A file is written under a temporary name in the folder where it will stand,
// synced, renamed, and the folder synced after it: a reader, and a machine that
// loses power, sees the old file or the new one and nothing in between. What a
// run that died leaves behind is a temporary file, which Sweep removes.
//
// A Folder does that below a folder that is held open, and never outside of it.
// WriteFile, WritePrivate and Write are for a single file that a person named:
// they follow its links, and write into what is no regular file, such as a pipe.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A Folder is a folder whose files are written whole. Names in it are
// slash-separated paths below Root.
type Folder struct {
	Root *os.Root
	// NoSync leaves out waiting for the disk: a power cut may then leave files
	// that have their name and not their content.
	NoSync bool
}

// WriteFile replaces the file called name by text, with mode 0644 less the
// umask.
func (f Folder) WriteFile(name string, text []byte) error { return f.write(name, 0o644, whole(text)) }

// Write is WriteFile for text that fill writes. Where it returns an error, the
// file stays as it was.
func (f Folder) Write(name string, fill func(io.Writer) error) error {
	return f.write(name, 0o644, fill)
}

func (f Folder) write(name string, mode fs.FileMode, fill func(io.Writer) error) error {
	d, err := f.draft(path.Dir(name), mode)
	if err == nil {
		if err = fill(d); err == nil {
			err = d.Commit(name)
		} else {
			err = errors.Join(err, d.Discard())
		}
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", f.path(name), err)
	}
	return nil
}

// Sync makes the names in dir durable. File systems that cannot sync a folder
// are taken as they are.
func (f Folder) Sync(dir string) error {
	if f.NoSync || runtime.GOOS == "windows" { // where folders have no Sync
		return nil
	}
	d, err := f.Root.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing %s: %w", f.path(dir), err)
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return fmt.Errorf("syncing %s: %w", f.path(dir), err)
	}
	return nil
}

// Sweep removes the temporary files in dir that were last written before the
// given time. Younger ones may be those of a run that lives. A dir that is
// absent is no error.
func (f Folder) Sweep(dir string, before time.Time) error {
	names, err := fs.ReadDir(f.Root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for files of dead runs in %s: %w", f.path(dir), err)
	}
	for _, e := range names {
		if !IsTemporary(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
			continue // gone, no file of ours, or in use
		}
		if err := f.Root.Remove(path.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing a file of a dead run: %w", err)
		}
	}
	return nil
}

// IsTemporary reports whether the last part of a name is that of a temporary
// file of this package.
func IsTemporary(name string) bool { return strings.HasPrefix(path.Base(name), tempPrefix) }

// path is what people are told that a name in the folder is.
func (f Folder) path(name string) string {
	return filepath.Join(f.Root.Name(), filepath.FromSlash(name))
}
