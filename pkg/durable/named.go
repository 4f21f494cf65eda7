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
)

// WriteFile replaces the file at path by text, with mode 0644 less the umask.
// Where path leads to no regular file, see Resolve, text is written into what it
// leads to.
func WriteFile(path string, text []byte) error { return write(path, 0o644, whole(text)) }

// WritePrivate is WriteFile with mode 0600, from the first byte on.
func WritePrivate(path string, text []byte) error { return write(path, 0o600, whole(text)) }

// Write is WriteFile for text that fill writes. Where it returns an error, the
// file stays as it was; what is no regular file has taken what came until then.
func Write(path string, fill func(io.Writer) error) error { return write(path, 0o644, fill) }

// whole writes a text at once.
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

// Resolve follows the links from path to the file that WriteFile replaces, which
// need not be there yet. regular is false where there is none to replace: path
// leads to a device, a pipe or a folder, or to what the process has open itself,
// as /dev/stdout and /dev/fd/63 do.
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

// parent is the folder of a name. It is not cleaned: before a ".." may be a link.
func parent(path string) string {
	dir, _ := filepath.Split(path)
	return cmp.Or(dir, ".")
}

// maxLinks is how many links are followed, as many as Linux does.
const maxLinks = 40

// isDescriptor reports whether a name is of a file that a process has open: its
// name elsewhere, if it has one, is not what whoever opened it reads.
func isDescriptor(file string) bool {
	file = filepath.ToSlash(filepath.Clean(file))
	return slices.ContainsFunc([]string{"/dev/stdout", "/dev/stderr", "/dev/fd/*", "/proc/*/fd/*", "/proc/*/task/*/fd/*"}, func(pattern string) bool {
		ok, err := path.Match(pattern, file)
		return ok && err == nil
	})
}

// standard is stdout or stderr where that is the file of info, else nil.
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

// writeInto writes into what stands at path. Where that is stdout or stderr, it is
// written where those are: opened once more, a file would be written from its
// start again, and a socket not at all.
func writeInto(path string, fill func(io.Writer) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if f := standard(info); f != nil {
		return fill(f)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}
