package durable

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
)

// tempPrefix begins the names of temporary files.
const tempPrefix = ".tmp-"

// A Draft is a temporary file in the folder where it will stand. It ends with
// Commit or Discard, one of them, called once.
type Draft struct {
	folder Folder
	file   *os.File
	name   string
}

// Draft begins a file in dir, which has to be there. Its name is settled by
// Commit.
func (f Folder) Draft(dir string) (*Draft, error) { return f.draft(dir, 0o644) }

func (f Folder) draft(dir string, mode fs.FileMode) (*Draft, error) {
	name := path.Join(dir, tempPrefix+rand.Text())
	file, err := f.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return &Draft{folder: f, file: file, name: name}, nil
}

// Write implements io.Writer.
func (d *Draft) Write(p []byte) (int, error) {
	n, err := d.file.Write(p)
	return n, d.named(err)
}

// named says the folder in an error in place of the temporary name, which tells
// nobody anything.
func (d *Draft) named(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return &fs.PathError{Op: failed.Op, Path: d.folder.path(path.Dir(d.name)), Err: failed.Err}
	}
	return err
}

// Commit gives the file its name, in the folder in which it was begun, in place
// of what had it before. When Commit returns nil, that is durable; after an
// error nothing of the draft stays.
func (d *Draft) Commit(name string) error {
	var err error
	if !d.folder.NoSync {
		err = d.named(d.file.Sync())
	}
	if err = errors.Join(err, d.file.Close()); err == nil {
		err = d.folder.Root.Rename(d.name, name)
	}
	if err != nil {
		return errors.Join(err, d.folder.Root.Remove(d.name))
	}
	return d.folder.Sync(path.Dir(name))
}

// Discard removes the draft.
func (d *Draft) Discard() error {
	return errors.Join(d.file.Close(), d.folder.Root.Remove(d.name))
}
