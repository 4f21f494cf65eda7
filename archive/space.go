package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/gantry-mirror/gantry/pkg/space"
)

// writeError makes sense of an error while a volume is written: a full disk is
// a *space.Error.
func (w *Writer) writeError(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case space.IsFull(err):
		w.mu.Lock()
		left := w.left
		w.mu.Unlock()
		return space.RanOut(w.opts.free, w.dir, left, err)
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
	return space.Enough(w.opts.free, w.dir, needed)
}
