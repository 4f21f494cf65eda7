package archive

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
)

// Tidy removes from dir what a run left there that was killed when its archive was complete. All archives stay. What it
// cannot remove is logged; log may be nil.
func Tidy(dir string, log *slog.Logger) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	l, err := list(root)
	if err != nil {
		return err
	}
	if err := (&Writer{dir: dir}).removeLeftovers(root, l); err != nil {
		cmp.Or(log, slog.New(slog.DiscardHandler)).Warn("cannot remove what an earlier run left in the folder", "dir", dir, "error", err)
	}
	return nil
}

// removeLeftovers cleans up after a run that was killed when its archive was complete and before it
// left the folder. Work that a run could still continue stays, and so does the folder of a run in
// progress.
func (w *Writer) removeLeftovers(root *os.Root, l *listing) (err error) {
	if !l.partial {
		return nil
	}
	info, err := root.Lstat(partialName)
	if err != nil || !info.IsDir() {
		return err
	}
	left := &Writer{dir: w.dir, opts: w.opts, packing: w.packing, root: root}
	if left.partial, err = root.OpenRoot(partialName); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, left.partial.Close()) }()
	if left.unfinished(l) != nil {
		return nil
	}
	var held *lockfile.LockedError
	switch left.lock, err = lockfile.Acquire(left.partial, lockName); {
	case errors.As(err, &held):
		return nil
	case err != nil:
		return err
	}
	// The previous holder of the lock may have worked in between.
	if now, err := list(root); err != nil || left.unfinished(now) != nil {
		return errors.Join(err, left.lock.Release())
	}
	if w.opts.Replace {
		if err := left.removeOlder(); err != nil {
			return errors.Join(fmt.Errorf("removing older archives: %w", err), left.lock.Release())
		}
	}
	return left.removePartial()
}
