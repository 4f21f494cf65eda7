//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package lockfile

import (
	"errors"
	"os"
)

// flock is not available on this operating system.
func flock(*os.File) error { return errors.ErrUnsupported }

// isRunning reports whether a process of this host exists.
func isRunning(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}
