package durable

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"syscall"
)

// MkdirAll is os.MkdirAll for folders that exist after a power failure: each that is made is synced in its parent.
func MkdirAll(dir string, mode fs.FileMode) error {
	if info, err := os.Stat(dir); err == nil {
		return folderError(dir, info)
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(parent, mode); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, mode); err != nil {
		if info, statErr := os.Stat(dir); statErr == nil { // another process made it
			return folderError(dir, info)
		}
		return err
	}
	d, err := os.Open(parent)             //nolint:forbidigo // a folder, to sync it
	if errors.Is(err, fs.ErrPermission) { // it can be written, and not read
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(d)
}

// MkdirAll makes a folder with its parents, and syncs the names of those that are made.
func (f Folder) MkdirAll(dir string) error {
	if info, err := f.Root.Stat(dir); err == nil {
		return folderError(f.path(dir), info)
	}
	parent := path.Dir(dir)
	if parent != "." {
		if err := f.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := f.Root.Mkdir(dir, 0o755); err != nil {
		if info, statErr := f.Root.Stat(dir); statErr == nil { // another process made it
			return folderError(f.path(dir), info)
		}
		return err
	}
	return f.Sync(parent)
}

// folderError returns the error of os.MkdirAll for what exists, nil for a folder.
func folderError(path string, info fs.FileInfo) error {
	if info.IsDir() {
		return nil
	}
	return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
}

// syncFolder syncs the names in a folder, and closes it. It ignores that a file system cannot do that.
func syncFolder(d *os.File) error {
	var err error
	if runtime.GOOS != "windows" { // where folders have no Sync
		err = d.Sync()
	}
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
