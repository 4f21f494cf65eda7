package site

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

// A disk that is full, or was made read-only, ends the run; what one file or
// one image meets does not.
func TestFatalErrors(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.ENOSPC:      true,
		syscall.EROFS:       true,
		syscall.EIO:         false, // one bad sector of the disk that is read
		errors.New("other"): false,
	} {
		wrapped := fmt.Errorf("writing blob: %w", &fs.PathError{Op: "write", Path: "x", Err: err})
		if got := Fatal(wrapped); got != want {
			t.Errorf("Fatal(%v) = %v, want %v", wrapped, got, want)
		}
	}
}
