package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// partialSuffix is the suffix of the names of files whose content arrives over several runs.
const partialSuffix = ".partial"

// maxPartialBase is how many bytes of a file's name are in the name of its partial file. File systems allow 255
// in all.
const maxPartialBase = 160

// ErrInUse is the error of Partial for a file that another process writes.
var ErrInUse = errors.New("another process is writing it")

// A Partial is a Draft that a later run finds: its name is made of the final name and a key. It must be ended by
// one call of Commit, Discard or Keep.
type Partial struct {
	Draft
	size int64
}

// Partial opens the temporary file for content that will be called name. The key identifies the content, and is a
// part of a file name. What an earlier run wrote is kept: Size is its length. Nothing of it is trusted, so the
// caller compares all content with a digest before Commit. Files for other keys of the name are removed. If
// another process has the file open, the error matches ErrInUse.
func (f Folder) Partial(name, key string, mode fs.FileMode) (*Partial, error) {
	dir, prefix := path.Dir(name), partialPrefix(path.Base(name))
	file := path.Join(dir, prefix+key+partialSuffix)
	p, err := f.partial(file, mode)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", f.path(name), err)
	}
	if err := f.removePartials(dir, prefix, path.Base(file)); err != nil {
		return nil, errors.Join(err, p.Keep())
	}
	return p, nil
}

// partialPrefix returns the beginning of the names of partial files.
func partialPrefix(base string) string {
	for len(base) > maxPartialBase || !utf8.ValidString(base) {
		base = base[:len(base)-1]
	}
	return "." + base + "."
}

// partial opens a partial file, and locks it.
func (f Folder) partial(name string, mode fs.FileMode) (*Partial, error) {
	for {
		p := &Partial{Draft: Draft{folder: f, name: name}}
		var err error
		p.file, err = f.Root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			p.file, err = f.openPartial(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := f.Root.Stat(path.Dir(name)); err != nil {
				return nil, err
			}
			continue // it was removed or renamed meanwhile
		}
		if err != nil {
			return nil, err
		}
		if locked, err := lockfile.TryLock(p.file); err == nil && !locked {
			return nil, errors.Join(ErrInUse, p.file.Close())
		}
		info, err := p.file.Stat()
		if err != nil {
			return nil, errors.Join(err, p.file.Close())
		}
		if named, err := f.Root.Lstat(name); err == nil && os.SameFile(named, info) {
			p.size = info.Size()
			return p, nil
		}
		if err := p.file.Close(); err != nil {
			return nil, err
		}
	}
}

// openPartial opens the partial file of an earlier run. Anything else of its name is removed: a symbolic link, or
// the file of another user, who could change it after it was compared.
func (f Folder) openPartial(name string) (*os.File, error) {
	info, err := f.Root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !regular.IsOwn(info) {
		if err := f.Root.Remove(name); err != nil {
			return nil, err
		}
		return nil, fs.ErrNotExist
	}
	return regular.Edit(f.Root, name, 0, 0)
}

// removePartials removes the partial files of a name except one, and those that another process has open.
func (f Folder) removePartials(dir, prefix, keep string) error {
	all, err := fs.ReadDir(f.Root.FS(), dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		key, begins := strings.CutPrefix(e.Name(), prefix)
		key, ends := strings.CutSuffix(key, partialSuffix)
		if !begins || !ends || e.Name() == keep || !e.Type().IsRegular() || strings.Contains(key, ".") {
			continue
		}
		if err := f.removeTemporary(path.Join(dir, e.Name()), false); err != nil {
			return err
		}
	}
	return nil
}

// Size returns how many bytes earlier runs wrote. Write continues after Resume.
func (p *Partial) Size() int64 { return p.size }

// Resume keeps the first n bytes, and lets Write continue after them.
func (p *Partial) Resume(n int64) error {
	if err := p.file.Truncate(n); err != nil {
		return p.named(err)
	}
	_, err := p.file.Seek(n, io.SeekStart)
	return p.named(err)
}

// Keep closes the file for a later run. Nothing is kept of a file without content.
func (p *Partial) Keep() error {
	if info, err := p.file.Stat(); err == nil && info.Size() == 0 {
		return p.Discard()
	}
	return p.file.Close()
}
