package durable

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"

	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// tempPrefix is the prefix of the names of temporary files.
const tempPrefix = ".tmp-"

// A Draft is a temporary file in the folder of its final name. It must be ended by one call of
// Commit or Discard.
type Draft struct {
	folder Folder
	file   *os.File
	name   string
}

// Draft starts a file in dir, which must exist. Commit names it.
func (f Folder) Draft(dir string) (*Draft, error) { return f.draft(dir, 0o644) }

// DraftProgram is Draft for a file that can be executed.
func (f Folder) DraftProgram(dir string) (*Draft, error) { return f.draft(dir, 0o755) }

func (f Folder) draft(dir string, mode fs.FileMode) (*Draft, error) {
	for {
		d := &Draft{folder: f, name: path.Join(dir, tempPrefix+rand.Text())}
		var err error
		if d.file, err = regular.Create(f.Root, d.name, mode); err != nil {
			return nil, err
		}
		if d.claim() {
			return d, nil
		}
		if err := d.file.Close(); err != nil {
			return nil, d.named(err)
		}
	}
}

// claim locks the file until it is closed, so that Sweep of another process does not delete it. It
// returns false if that happened before it was locked.
func (d *Draft) claim() bool {
	if !sweepsUnlocked {
		return true
	}
	if locked, err := lockfile.TryLock(d.file); err != nil || !locked {
		return err != nil // there are no locks, so Sweep respects young files
	}
	named, err := d.folder.Root.Lstat(d.name)
	if err != nil {
		return false
	}
	own, err := d.file.Stat()
	return err == nil && os.SameFile(own, named)
}

// sweepsUnlocked is whether Sweep deletes young files that no process has locked. Windows cannot
// rename a file that is open, and so not one that is locked.
const sweepsUnlocked = runtime.GOOS != "windows"

// isAbandoned reports whether no process has locked a temporary file, and keeps it locked until
// release is called.
func (f Folder) isAbandoned(name string) (abandoned bool, release func()) {
	if !sweepsUnlocked {
		return false, func() {}
	}
	file, err := regular.Edit(f.Root, name, 0, 0)
	if err != nil {
		return false, func() {} // gone, or not ours
	}
	locked, err := lockfile.TryLock(file)
	return err == nil && locked, func() { _ = file.Close() } // nothing was written
}

// Write implements io.Writer.
func (d *Draft) Write(p []byte) (int, error) {
	n, err := d.file.Write(p)
	return n, d.named(err)
}

// ReadAt implements io.ReaderAt for what was written.
func (d *Draft) ReadAt(p []byte, at int64) (int, error) {
	n, err := d.file.ReadAt(p, at)
	return n, d.named(err)
}

// WriteAt implements io.WriterAt. It does not change where Write continues.
func (d *Draft) WriteAt(p []byte, at int64) (int, error) {
	n, err := d.file.WriteAt(p, at)
	return n, d.named(err)
}

// named replaces the temporary name in an error by the folder, because users do not know that name.
func (d *Draft) named(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: failed.Op, Path: d.folder.path(path.Dir(d.name)), Err: failed.Err}
	}
	return err
}

// Commit gives the file its name, in the folder in which it was started, and replaces any file of
// that name. When Commit returns nil, the file is durable; after an error, the draft is deleted.
func (d *Draft) Commit(name string) error {
	var err error
	if !d.folder.NoSync {
		err = d.named(d.file.Sync())
	}
	if !sweepsUnlocked {
		err = errors.Join(err, d.file.Close())
	}
	if err == nil {
		err = d.folder.Root.Rename(d.name, name)
	}
	if err != nil {
		err = errors.Join(err, d.folder.Root.Remove(d.name))
	}
	if sweepsUnlocked { // it is locked until it has its name
		err = errors.Join(err, d.file.Close())
	}
	if err != nil {
		return err
	}
	return d.folder.Sync(path.Dir(name))
}

// Discard deletes the draft.
func (d *Draft) Discard() error {
	return errors.Join(d.file.Close(), d.folder.Root.Remove(d.name))
}
