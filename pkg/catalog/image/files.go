package image

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"
)

// files is a file system in memory that is only read: files by their paths, and
// for each directory what is in it.
type files struct {
	data     map[string][]byte
	children map[string][]string // sorted, and "." for the root
}

func newFiles() *files {
	return &files{data: map[string][]byte{}, children: map[string][]string{".": nil}}
}

// add adds a file and the directories above it.
func (f *files) add(name string, data []byte) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("%.200q is no name for a file", name)
	}
	if _, ok := f.data[name]; ok || f.children[name] != nil {
		return fmt.Errorf("the bundle has %.200q twice", name)
	}
	f.data[name] = data
	for name != "." {
		dir := path.Dir(name)
		at, ok := slices.BinarySearch(f.children[dir], path.Base(name))
		if ok {
			break
		}
		f.children[dir] = slices.Insert(f.children[dir], at, path.Base(name))
		name = dir
	}
	return nil
}

// Open implements fs.FS.
func (f *files) Open(name string) (fs.File, error) {
	info, err := f.stat("open", name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return &openDir{info: info, files: f, path: name, left: f.children[name]}, nil
	}
	return &openFile{info: info, Reader: bytes.NewReader(f.data[name])}, nil
}

func (f *files) stat(op, name string) (fileInfo, error) {
	if !fs.ValidPath(name) {
		return fileInfo{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	data, isFile := f.data[name]
	if _, isDir := f.children[name]; !isFile && !isDir {
		return fileInfo{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return fileInfo{name: path.Base(name), size: int64(len(data)), dir: !isFile}, nil
}

// A fileInfo describes a file or a directory.
type fileInfo struct {
	name string
	size int64
	dir  bool
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) IsDir() bool        { return i.dir }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) Sys() any           { return nil }

func (i fileInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// An openFile is a file that is read.
type openFile struct {
	*bytes.Reader
	info fileInfo
}

func (o *openFile) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openFile) Close() error               { return nil }

// An openDir is a directory that is read.
type openDir struct {
	files *files
	info  fileInfo
	path  string
	left  []string
}

func (o *openDir) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openDir) Close() error               { return nil }

func (o *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: o.path, Err: fs.ErrInvalid}
}

func (o *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(o.left)
	} else if len(o.left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(o.left))
	var entries []fs.DirEntry
	for _, name := range o.left[:n] {
		info, err := o.files.stat("readdir", path.Join(o.path, name))
		if err != nil {
			return entries, err
		}
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	o.left = o.left[n:]
	return entries, nil
}
