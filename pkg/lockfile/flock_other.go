//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package lockfile

import (
	"errors"
	"os"
)

// flock is not within reach here.
func flock(*os.File) error { return errors.ErrUnsupported }

// processLives reports whether a process of this host is there.
func processLives(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}
