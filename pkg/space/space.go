// Package space compares what is to be written with what a disk has room for:
// before the first byte, and when the disk is full nevertheless.
//
// What counts is what this user may still write. Where nobody can tell what is
// free, it is taken to be enough, and a full disk shows when it is full.
package space

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gantry-mirror/gantry/pkg/progress"
)

// An Error says that there is no room for what is to be written, before the
// first byte or when it ran out.
type Error struct {
	Dir       string
	Needed    int64 // bytes that are still to be written
	Available int64 // bytes that the file system has left
	Err       error // of the write that it had no room for; nil before the first
}

func (e *Error) Error() string {
	why := ""
	if e.Err != nil {
		why = fmt.Sprintf(" (%v)", e.Err)
	}
	return fmt.Sprintf("not enough space in %s: %s are still to be written, %s are free%s: %s",
		e.Dir, progress.Bytes(e.Needed), progress.Bytes(e.Available), why, e.Hint())
}

func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *Error) Hint() string {
	if e.Needed <= e.Available { // a quota, or space that came back
		return "make room and run again"
	}
	return fmt.Sprintf("make room for %s more and run again", progress.Bytes(e.Needed-e.Available))
}

// IsFull reports whether a write failed, or was not begun, since there was no
// room for it: the disk is full, or this user's share of it is used up.
func IsFull(err error) bool {
	var lacking *Error
	return errors.As(err, &lacking) || errors.Is(err, syscall.ENOSPC) || isQuota(err)
}

// Check is an *Error where the file system that dir lies on, or will lie on, has
// less than needed bytes free for this user.
func Check(dir string, needed int64) error { return Enough(Free, dir, needed) }

// Enough is Check with free in place of Free. An errors.ErrUnsupported of it is
// enough.
func Enough(free func(dir string) (int64, error), dir string, needed int64) error {
	available, err := free(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("asking for free space: %w", err)
	}
	if available < needed {
		return &Error{Dir: dir, Needed: needed, Available: available}
	}
	return nil
}

// RanOut is the *Error of a write for which IsFull, with so many bytes still to
// be written in dir. Of what is free, free tells.
func RanOut(free func(dir string) (int64, error), dir string, needed int64, err error) error {
	available, freeErr := free(dir)
	if freeErr != nil || available < 0 {
		available = 0
	}
	return &Error{Dir: dir, Needed: needed, Available: available, Err: err}
}

// Free is how many bytes the file system of dir has for this user. A folder that
// is not there lies on that of the one above it. Where that cannot be known, the
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
