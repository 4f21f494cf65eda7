package env

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// LocalFiles reads files that a configuration names. Paths are relative to the working directory.
type LocalFiles struct{}

// Dir opens a folder, or a file as a folder with that file alone. The journals of a database are
// beside it and can be opened.
func (LocalFiles) Dir(path string) (fs.FS, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir, name := path, ""
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is neither a folder nor a regular file", path)
		}
		if path, err = filepath.EvalSymlinks(path); err != nil { // a symbolic link that the user names is followed
			return nil, err
		}
		dir, name = filepath.Split(path)
	}
	root, err := os.OpenRoot(cmp.Or(dir, "."))
	switch {
	case err != nil:
		return nil, err
	case name != "":
		return single{regular.FS(root), name}, nil
	}
	return regular.FS(root), nil
}

// A single is a folder with one file. The journals of a database, "index.db-journal" beside
// "index.db", can be opened, but are not listed.
type single struct {
	fs.FS
	name string
}

func (s single) Open(name string) (fs.File, error) {
	if name != "." && name != s.name && !strings.HasPrefix(name, s.name+"-") {
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

// ReadFile reads a regular file of at most 1 MiB.
func (LocalFiles) ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxTemplate || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file below %d bytes", path, maxTemplate)
	}
	text, _, err := regular.ReadPath(path, maxTemplate)
	return text, err
}
