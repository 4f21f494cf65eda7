package space

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Free space is read from the folder, or from its nearest parent.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	available, err := Free(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("free space is not reported")
	}
	if err != nil || available <= 0 {
		t.Fatalf("Free = %d, %v", available, err)
	}
	for _, at := range []string{dir, filepath.Join(dir, "not", "yet")} {
		if err := Check(at, 1); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		var tooSmall *Error
		if err := Check(at, available*2+1<<40); !errors.As(err, &tooSmall) || tooSmall.Dir != at || tooSmall.Available <= 0 {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestCheckWith(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		free int64
		err  error
		want error
	}{
		"enough":    {free: 10},
		"too much":  {free: 9, want: &Error{Dir: "/d", Needed: 10, Available: 9}},
		"unknown":   {err: errors.ErrUnsupported},
		"no answer": {err: broken, want: broken},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckWith(func(string) (int64, error) { return tc.free, tc.err }, "/d", 10)
			if tc.want == broken { //nolint:errorlint // the case
				if !errors.Is(err, broken) {
					t.Error(err)
				}
				return
			}
			fail.Diff(t, tc.want, err)
		})
	}
}

func TestFull(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	if !IsFull(fmt.Errorf("writing: %w", full)) || !IsFull(fmt.Errorf("writing: %w", &Error{})) || IsFull(&os.PathError{Op: "write", Path: "x", Err: syscall.EIO}) || IsFull(nil) {
		t.Error("IsFull is wrong")
	}
	for _, tc := range []struct {
		free int64
		err  error
		want int64
	}{{12, nil, 12}, {0, errors.ErrUnsupported, 0}, {-1, nil, 0}} {
		err := Full(func(string) (int64, error) { return tc.free, tc.err }, "/d", 20, full)
		var tooSmall *Error
		if !errors.As(err, &tooSmall) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		fail.Diff(t, Error{Dir: "/d", Needed: 20, Available: tc.want, Err: full}, *tooSmall, cmpopts.EquateErrors())
	}
}

func TestErrorText(t *testing.T) {
	for want, e := range map[string]*Error{
		"not enough space in /d: 3.0 MiB are still to be written, 1.0 MiB are free; free 2.0 MiB more and run again":                 {Dir: "/d", Needed: 3 << 20, Available: 1 << 20},
		"not enough space in /d: 1 B are still to be written, 1.0 MiB are free (disk quota exceeded); free some space and run again": {Dir: "/d", Needed: 1, Available: 1 << 20, Err: errors.New("disk quota exceeded")},
	} {
		fail.Diff(t, want, e.Error()+"; "+advice.Hint(e))
	}
}
