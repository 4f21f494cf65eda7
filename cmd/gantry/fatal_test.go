package main

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

// A medium that is full, or was made read-only, ends the run; what one file or
// one image meets does not.
func TestFatal(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.ENOSPC:      true,
		syscall.EROFS:       true,
		syscall.EIO:         false, // one bad place of the medium that is read
		errors.New("other"): false,
	} {
		wrapped := fmt.Errorf("writing blob: %w", &fs.PathError{Op: "write", Path: "x", Err: err})
		if got := fatal(wrapped); got != want {
			t.Errorf("fatal(%v) = %v, want %v", wrapped, got, want)
		}
	}
}
