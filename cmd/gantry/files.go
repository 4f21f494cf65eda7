package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// files reads what lies beside the configuration from the disk.
type files struct{}

// Dir opens a folder, or a file as a folder that holds nothing else.
func (files) Dir(path string) (fs.FS, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir, name := path, ""
	if !info.IsDir() {
		if path, err = filepath.EvalSymlinks(path); err != nil { // a person named it, wherever it leads
			return nil, err
		}
		dir, name = filepath.Split(path)
	}
	root, err := os.OpenRoot(cmp.Or(dir, "."))
	switch {
	case err != nil:
		return nil, err
	case name != "":
		return single{root.FS(), name}, nil
	}
	return root.FS(), nil
}

// single is a file as a folder that holds nothing else.
type single struct {
	fs.FS
	name string
}

func (s single) Open(name string) (fs.File, error) {
	if name != "." && name != s.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return s.FS.Open(name)
}

// ReadDir implements fs.ReadDirFS.
func (s single) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	info, err := fs.Stat(s.FS, s.name)
	if err != nil {
		return nil, err
	}
	return []fs.DirEntry{fs.FileInfoToDirEntry(info)}, nil
}

// maxTemplate is the largest file that a configuration may name, in bytes.
const maxTemplate = 1 << 20

func (files) ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxTemplate || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file below %d bytes", path, maxTemplate)
	}
	return os.ReadFile(path)
}
