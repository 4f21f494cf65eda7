package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// WriteFile replaces the file at path by text, with mode 0644 minus the umask. If path does not
// lead to a regular file, see Resolve, the text is written into what it leads to.
func WriteFile(path string, text []byte) error { return write(path, 0o644, whole(text)) }

// WritePrivate is WriteFile with mode 0600 from the first byte on.
func WritePrivate(path string, text []byte) error { return write(path, 0o600, whole(text)) }

// Write is WriteFile for text that fill writes. If it returns an error, a regular file is
// unchanged; anything else has received what was written until then.
func Write(path string, fill func(io.Writer) error) error { return write(path, 0o644, fill) }

// whole returns a function that writes a text.
func whole(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

func write(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	file, regular, err := Resolve(path)
	switch {
	case err != nil:
	case !regular:
		err = writeInto(path, fill)
	default:
		var root *os.Root
		if root, err = os.OpenRoot(parent(file)); err == nil {
			defer root.Close()
			return Folder{Root: root}.write(filepath.Base(file), mode, fill)
		}
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// Resolve follows the symbolic links from path to the file that WriteFile replaces, which need not
// exist. regular is false if there is no such file: path leads to a device, a pipe or a folder, or
// to a file that the process has open, as /dev/stdout and /dev/fd/63 do.
func Resolve(path string) (file string, regular bool, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", false, err
	case err == nil && (!info.Mode().IsRegular() || standard(info) != nil):
		return path, false, nil
	}
	for range maxLinks {
		if isDescriptor(path) {
			return path, false, nil
		}
		to, _ := os.Readlink(path)
		if to == "" { // a file, or a name that is free
			return path, true, nil
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(parent(path))
			if err != nil {
				return "", false, err
			}
			to = dir + string(filepath.Separator) + to
		}
		path = to
	}
	return "", false, errors.New("too many symbolic links")
}

// parent returns the folder of a name. It does not clean the path: a symbolic link may precede a
// "..".
func parent(path string) string {
	dir, _ := filepath.Split(path)
	return cmp.Or(dir, ".")
}

// maxLinks is how many symbolic links are followed, the same as on Linux.
const maxLinks = 40

// isDescriptor reports whether a name refers to a file that a process has open. The reader has that
// file open; it need not have a name, or may have another one.
func isDescriptor(file string) bool {
	file = filepath.ToSlash(filepath.Clean(file))
	return slices.ContainsFunc([]string{"/dev/stdout", "/dev/stderr", "/dev/fd/*", "/proc/*/fd/*", "/proc/*/task/*/fd/*"}, func(pattern string) bool {
		ok, err := path.Match(pattern, file)
		return ok && err == nil
	})
}

// standard returns stdout or stderr if it is the file of info, and nil otherwise.
func standard(info fs.FileInfo) *os.File {
	files := []*os.File{os.Stdout, os.Stderr}
	i := slices.IndexFunc(files, func(f *os.File) bool {
		open, err := f.Stat()
		return err == nil && os.SameFile(open, info)
	})
	if i < 0 {
		return nil
	}
	return files[i]
}

// writeInto writes into the file at path. If that is stdout or stderr, it uses the open file:
// opening it again would write a file from its start, and fails for a socket.
func writeInto(path string, fill func(io.Writer) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if f := standard(info); f != nil {
		return fill(f)
	}
	f, err := regular.OpenOutput(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}
