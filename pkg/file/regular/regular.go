// Package regular opens files that others made or named, so that none of them blocks the program.
//
// Open, Read and Edit are for folders with untrusted content: a removable disk, a layout of another
// program, a workspace on a shared disk. A symbolic link, a pipe or a device there is an error, and
// so is a name that leads out of the folder. FS is the same for packages that read an fs.FS; it
// follows symbolic links that stay in the folder.
//
// OpenInput, ReadInput and OpenOutput are for files that a flag names: a regular file, or a pipe such
// as /dev/stdin or a process substitution of a shell. They wait a few seconds for the other end of a
// pipe. OpenPath is for files that a configuration or a fixed path names: regular files only.
//
// The content is not checked here: callers compare it with its digest.
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
	f, err := folder.OpenFile(name, os.O_RDONLY|nonblock, 0)
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

// Edit opens the regular file called name below folder to read and to write it. flag can have
// os.O_CREATE and os.O_APPEND. Symbolic links that stay in the folder are followed.
func Edit(folder *os.Root, name string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := folder.OpenFile(name, os.O_RDWR|flag|nonblock, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = wrong("open", folder, name, "not a regular file")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Create makes a new file below folder to write and to read it. Without nonblock, Go makes four more system calls
// to find out that a file never blocks.
func Create(folder *os.Root, name string, perm fs.FileMode) (*os.File, error) {
	return folder.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|nonblock, perm)
}

// Read reads a regular file of at most limit bytes.
func Read(folder *os.Root, name string, limit int64) ([]byte, error) {
	f, info, err := Open(folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, info, f.Name(), limit)
}

// readAll reads a file of at most limit bytes.
func readAll(in io.Reader, info fs.FileInfo, name string, limit int64) ([]byte, error) {
	var raw bytes.Buffer
	raw.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
	if _, err := raw.ReadFrom(io.LimitReader(in, limit+1)); err != nil {
		return nil, err
	}
	if int64(raw.Len()) > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than the %d bytes that are allowed", limit)}
	}
	return raw.Bytes(), nil
}

// wrong returns a problem as an error of the kind that the operating system returns.
func wrong(op string, folder *os.Root, name, problem string) error {
	return &fs.PathError{Op: op, Path: filepath.Join(folder.Name(), filepath.FromSlash(name)), Err: errors.New(problem)}
}
