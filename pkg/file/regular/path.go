package regular

import (
	"errors"
	"io/fs"
	"os"
)

// errNotRegular is the error for what is neither a regular file nor a folder.
var errNotRegular = errors.New("not a regular file")

// OpenPath opens the regular file at a path. Symbolic links are followed.
func OpenPath(name string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// ReadPath reads the regular file at a path, of at most limit bytes.
func ReadPath(name string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := OpenPath(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	text, err := readAll(f, info, name, limit)
	return text, info, err
}

// FS returns a folder as an fs.FS, in which only regular files and folders can be opened. A symbolic
// link is followed if it leads to a file in the folder.
func FS(folder *os.Root) fs.FS { return rootFS{folder.FS(), folder} }

type rootFS struct {
	fs.FS
	folder *os.Root
}

// Open implements fs.FS.
func (r rootFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := r.folder.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Stat implements fs.StatFS.
func (r rootFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.FS, name) }

// Lstat implements fs.ReadLinkFS.
func (r rootFS) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(r.FS, name) }

// ReadLink implements fs.ReadLinkFS.
func (r rootFS) ReadLink(name string) (string, error) { return fs.ReadLink(r.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (r rootFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS, name) }
