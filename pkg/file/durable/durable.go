// Package durable writes files completely or not at all.
//
// A file is written under a temporary name in its folder, synced and renamed; then the folder is
// synced. A reader sees the old file or the new one and nothing in between, even after a power
// failure. A run that is killed leaves only a temporary file, which Sweep deletes.
//
// A Folder does that below a folder that is open, and never outside of it. WriteFile, WritePrivate
// and Write are for a single file that the user named: they follow symbolic links, and write into
// anything that is not a regular file, such as a pipe.
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
	"time"
)

// A Folder is a folder whose files are written completely or not at all. Names are slash-separated
// paths below Root.
type Folder struct {
	Root *os.Root
	// NoSync does not sync to the disk: after a power failure, a file may have its name but not its
	// content.
	NoSync bool
}

// WriteFile replaces the file called name by text, with mode 0644 minus the umask.
func (f Folder) WriteFile(name string, text []byte) error { return f.write(name, 0o644, whole(text)) }

// Write is WriteFile for text that fill writes. If it returns an error, the file is unchanged.
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

// Sync makes the names in dir durable. It ignores that a file system cannot sync folders.
func (f Folder) Sync(dir string) error {
	if f.NoSync || runtime.GOOS == "windows" { // where folders have no Sync
		return nil
	}
	d, err := f.Root.Open(dir)
	if err == nil {
		err = syncFolder(d)
	}
	if err != nil {
		return fmt.Errorf("syncing %s: %w", f.path(dir), err)
	}
	return nil
}

// Sweep deletes the temporary files in dir that killed runs left: those that no process has open,
// and those that were last written before a time. Where files cannot be locked, younger files may
// belong to a run that is working, and stay. If dir does not exist, that is not an error.
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
		if err != nil || !info.Mode().IsRegular() {
			continue // gone, or no file of ours
		}
		if err := f.removeTemporary(path.Join(dir, e.Name()), info.ModTime().Before(before)); err != nil {
			return fmt.Errorf("removing a file of a dead run: %w", err)
		}
	}
	return nil
}

// removeTemporary removes a temporary file if it is old, or if no process has it open.
func (f Folder) removeTemporary(name string, old bool) error {
	if !old {
		abandoned, release := f.isAbandoned(name)
		defer release()
		if !abandoned {
			return nil
		}
	}
	if err := f.Root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// IsTemporary reports whether the last element of a name is the name of a temporary file of this
// package.
func IsTemporary(name string) bool { return strings.HasPrefix(path.Base(name), tempPrefix) }

// path returns the path of a name in the folder, for messages.
func (f Folder) path(name string) string {
	return filepath.Join(f.Root.Name(), filepath.FromSlash(name))
}
