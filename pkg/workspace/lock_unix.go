//go:build unix

package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// errLocked says that another process has the lock.
var errLocked = unix.EWOULDBLOCK

// lockFile takes the lock without waiting. File systems without locks (some
// network and removable ones) are used unlocked.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}
