package mirror

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// TestFatalSource checks which errors of the source end a run: a full disk of this machine, and no others.
func TestFatalSource(t *testing.T) {
	t.Parallel()
	r := &run{Options: Options{Fatal: func(error) bool { return true }}}
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{errors.New("denied"), true},
		{&sourceError{errors.New("denied")}, false},
		{&sourceError{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}}, true},
		{nil, false},
	} {
		if got := r.fatal(tc.err); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.err, got, tc.want)
		}
	}
}
