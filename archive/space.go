package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gantry-mirror/gantry/pkg/progress"
)

// A SpaceError says that the medium has no room for the archive, before the
// first byte or when it ran out.
type SpaceError struct {
	Dir       string
	Needed    int64 // bytes that are still to be written
	Available int64 // bytes that the file system has left
	Err       error // of the write that it had no room for; nil before the first
}

func (e *SpaceError) Error() string {
	why := ""
	if e.Err != nil {
		why = fmt.Sprintf(" (%v)", e.Err)
	}
	return fmt.Sprintf("not enough space in %s: %s are still to be written, %s are free%s: %s",
		e.Dir, progress.Bytes(e.Needed), progress.Bytes(e.Available), why, e.Hint())
}

func (e *SpaceError) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *SpaceError) Hint() string {
	if e.Needed <= e.Available { // a quota, or space that came back
		return "make room and run again"
	}
	return fmt.Sprintf("make room for %s more and run again", progress.Bytes(e.Needed-e.Available))
}

// writeError makes sense of an error while a volume is written: a full disk is
// a *SpaceError.
func (w *Writer) writeError(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), isQuota(err):
		w.mu.Lock()
		left := w.left
		w.mu.Unlock()
		available, freeErr := w.opts.free(w.dir)
		if freeErr != nil || available < 0 {
			available = 0
		}
		return &SpaceError{Dir: w.dir, Needed: left, Available: available, Err: err}
	case errors.Is(err, syscall.EFBIG):
		return fmt.Errorf("writing %s: the file system of %s takes no files of that size: choose smaller volumes, of at most 4 GiB - 1 where it is FAT32 (--volume-size fat32): %w", name, w.dir, err)
	case errors.Is(err, fs.ErrClosed):
		return fmt.Errorf("writing %s: the archive was closed", name)
	}
	return fmt.Errorf("writing %s: %w", name, err)
}

// checkFiles compares the volumes with the largest file that the medium takes.
func (w *Writer) checkFiles() error {
	most, err := w.opts.largest(w.dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("asking for the kind of file system: %w", err)
	}
	for _, v := range w.set.Volumes {
		if v.Size > most {
			return fmt.Errorf("the file system takes files of at most %d bytes, and %s would have %d: write volumes of at most that size (for FAT32, 4 GiB - 1: --volume-size fat32)", most, v.Name, v.Size)
		}
	}
	return nil
}

// checkSpace compares what is still to be written with what is free.
func (w *Writer) checkSpace() error {
	var needed int64
	for _, v := range w.set.Volumes {
		needed += v.Size
		if info, err := w.partial.Lstat(v.Name); err == nil {
			needed -= min(allocated(info), v.Size)
		}
	}
	// The set manifest, its sum, and a line in the journal for every entry; where
	// there are parts, the set manifest with their digests beside the one without.
	needed += 2*w.size + blockSize
	if w.set.split() {
		needed += 2 * w.size
	}
	return enough(w.opts.free, w.dir, needed)
}

// CheckSpace is a *SpaceError where the file system that dir lies on has less than
// needed bytes free for this user. A folder that is not there lies on that of the one
// above it; where nobody can tell what is free, it is enough.
func CheckSpace(dir string, needed int64) error {
	at, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("asking for free space: %w", err)
	}
	for {
		_, err := os.Stat(at)
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		at = filepath.Dir(at)
	}
	return enough(func(string) (int64, error) { return free(at) }, dir, needed)
}

// enough compares what is free for dir with what is needed.
func enough(free func(dir string) (int64, error), dir string, needed int64) error {
	available, err := free(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("asking for free space: %w", err)
	}
	if available < needed {
		return &SpaceError{Dir: dir, Needed: needed, Available: available}
	}
	return nil
}
