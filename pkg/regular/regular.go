// Package regular opens regular files in a folder that somebody else may have
// filled: a medium that was carried by hand, a layout from another program, a
// cache on a shared disk.
//
// A symbolic link, a pipe or a device is an error, and so is a name that leads
// out of the folder; nothing is read without a limit. What the files hold is
// not this package's affair: whoever reads compares it with its digest.
package regular

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Open opens the regular file called name below folder.
func Open(folder *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := folder.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, wrong("open", folder, name, "not a regular file")
	}
	f, err := folder.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = wrong("open", folder, name, "the file changed while it was opened")
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// Read reads a regular file of at most limit bytes.
func Read(folder *os.Root, name string, limit int64) ([]byte, error) {
	f, info, err := Open(folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var raw bytes.Buffer
	raw.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
	if _, err := raw.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	if int64(raw.Len()) > limit {
		return nil, wrong("read", folder, name, fmt.Sprintf("it has more than the %d bytes that are allowed", limit))
	}
	return raw.Bytes(), nil
}

// wrong is a problem as the operating system would tell it.
func wrong(op string, folder *os.Root, name, problem string) error {
	return &fs.PathError{Op: op, Path: filepath.Join(folder.Name(), filepath.FromSlash(name)), Err: errors.New(problem)}
}
