package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive/parity"
	"github.com/gantry-mirror/gantry/pkg/file/space"
)

// smallerVolumes is the hint for a file system that limits the size of files.
const smallerVolumes = "set a smaller Options.VolumeSize, for FAT32 fat32 (4 GiB - 1)"

// writeError explains an error of writing a volume. A full disk is a *space.Error.
func (w *Writer) writeError(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case space.IsFull(err):
		w.mu.Lock()
		left := w.remaining
		w.mu.Unlock()
		return space.Full(w.opts.freeSpace, w.dir, left, err)
	case errors.Is(err, syscall.EFBIG):
		return advice.New(advice.Failure, smallerVolumes, "writing %s: the file system of %s does not allow files of that size: %w", name, w.dir, err)
	case errors.Is(err, fs.ErrClosed):
		return fmt.Errorf("writing %s: the archive was closed", name)
	}
	return fmt.Errorf("writing %s: %w", name, err)
}

// checkFiles compares the volumes with the largest file that the file system allows.
func (w *Writer) checkFiles() error {
	most, err := w.opts.maxFileSize(w.dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("determining the file system: %w", err)
	}
	for _, v := range w.set.Volumes {
		if v.Size > most {
			return advice.New(advice.Failure, smallerVolumes, "the file system allows files of at most %d bytes, and %s would have %d", most, v.Name, v.Size)
		}
	}
	return nil
}

// checkSpace compares what is still to be written with the free space.
func (w *Writer) checkSpace() error {
	var needed int64
	for _, v := range w.set.Volumes {
		needed += v.Size
		if info, err := w.partial.Lstat(v.Name); err == nil {
			needed -= min(allocated(info), v.Size)
		}
	}
	// The set manifest, its checksum, and a line in the journal for every entry. If there are
	// parts, the set manifest is written again with their digests.
	needed += 2*w.size + blockSize
	if w.set.split() {
		needed += 2 * w.size
	}
	return space.CheckWith(w.opts.freeSpace, w.dir, needed+w.parityBytes())
}

func explainReadOnly(err error) error {
	if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the folder cannot be written to; is the disk read-only? %w", err)
	}
	return err
}

// parityBytes returns the size of all parity files.
func (w *Writer) parityBytes() int64 {
	if w.opts.Redundancy == 0 {
		return 0
	}
	l := parityLayout(w.set, "")
	return int64(parity.Count(len(l.Sizes), w.opts.Redundancy)) * l.FileSize()
}
