// Package space checks that a disk has enough free space: before the first byte is written, and when
// a write fails because the disk is full.
//
// Free space is what this user may still write. On operating systems that do not report it, it is
// assumed to be enough, until a write fails.
package space

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// An Error means that a disk has not enough free space, before the first byte or after a write failed.
type Error struct {
	Dir       string
	Needed    int64 // bytes that are still to be written
	Available int64 // bytes that the file system has left
	Err       error // the error of the write that failed; nil before the first write
}

func (e *Error) Error() string {
	why := ""
	if e.Err != nil {
		why = fmt.Sprintf(" (%v)", e.Err)
	}
	return fmt.Sprintf("not enough space in %s: %s are still to be written, %s are free%s",
		e.Dir, progress.Bytes(e.Needed), progress.Bytes(e.Available), why)
}

// Unwrap returns the error of the write that failed, if any.
func (e *Error) Unwrap() error { return e.Err }

// Advice implements advice.Adviser.
func (e *Error) Advice() (advice.Kind, string) {
	if e.Needed <= e.Available { // a quota, or space that was freed meanwhile
		return advice.NoSpace, "free some space and run again"
	}
	return advice.NoSpace, fmt.Sprintf("free %s more and run again", progress.Bytes(e.Needed-e.Available))
}

// IsFull reports whether a write failed, or was not started, because the disk is full or the quota of
// this user is used up.
func IsFull(err error) bool {
	var tooSmall *Error
	return errors.As(err, &tooSmall) || errors.Is(err, syscall.ENOSPC) || isQuota(err)
}

// Check returns an *Error if the file system of dir, which need not exist, has less than needed bytes
// free for this user.
func Check(dir string, needed int64) error { return CheckWith(Free, dir, needed) }

// CheckWith is Check with free in place of Free. If free returns errors.ErrUnsupported, the space is
// assumed to be enough.
func CheckWith(free func(dir string) (int64, error), dir string, needed int64) error {
	available, err := free(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the free space: %w", err)
	}
	if available < needed {
		return &Error{Dir: dir, Needed: needed, Available: available}
	}
	return nil
}

// Full returns the *Error of a write that failed with an error for which IsFull is true. needed is how
// many bytes are still to be written in dir; free returns the free space.
func Full(free func(dir string) (int64, error), dir string, needed int64, err error) error {
	available, freeErr := free(dir)
	if freeErr != nil || available < 0 {
		available = 0
	}
	return &Error{Dir: dir, Needed: needed, Available: available, Err: err}
}

// Free returns how many bytes this user may still write to the file system of dir. If dir does not
// exist, its nearest existing parent counts. On operating systems that do not report free space, the
// error is errors.ErrUnsupported.
func Free(dir string) (int64, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return 0, err
	}
	for {
		_, err := os.Stat(at)
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return free(at)
		}
		at = filepath.Dir(at)
	}
}
