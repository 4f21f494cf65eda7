package archive

import (
	"errors"
	"fmt"
	"os"

	"github.com/gantry-mirror/gantry/pkg/lockfile"
)

// tidy comes behind a run that was killed after its archive was complete and
// before it had left the folder: what it was about to remove goes. Work that a run
// could still take up stays, and so does the folder of one that is under way.
func (w *Writer) tidy(root *os.Root, l *listing) (err error) {
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
	var held *lockfile.HeldError
	switch left.lock, err = lockfile.Acquire(left.partial, lockName); {
	case errors.As(err, &held):
		return nil
	case err != nil:
		return err
	}
	// The one that held the lock until now may have been at work in between.
	if now, err := list(root); err != nil || left.unfinished(now) != nil {
		return errors.Join(err, left.lock.Release())
	}
	if w.opts.Replace {
		if err := left.replace(); err != nil {
			return errors.Join(fmt.Errorf("removing older archives: %w", err), left.lock.Release())
		}
	}
	return left.leave()
}
