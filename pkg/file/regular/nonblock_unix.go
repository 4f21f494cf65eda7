//go:build unix

package regular

import (
	"errors"
	"syscall"
)

// nonblock opens a pipe without waiting for the other end.
const nonblock = syscall.O_NONBLOCK

// isUnread reports whether an error of opening a pipe to write means that no process reads from it.
func isUnread(err error) bool { return errors.Is(err, syscall.ENXIO) }
