package state_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

func TestSnapshots(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	s := state.OpenSnapshots(cache)
	root := digest.FromString("image")
	if _, err := s.Snapshot(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing was kept: %v", err)
	}
	keep := func(text string) error {
		return s.KeepSnapshot(root, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	for _, text := range []string{"one", "another"} {
		fail.On(t, keep(text))
		f, err := s.Snapshot(root)
		fail.On(t, err)
		got, err := io.ReadAll(io.NewSectionReader(f.(io.ReaderAt), 0, 100))
		if err := errors.Join(err, f.Close()); err != nil || string(got) != text {
			t.Errorf("kept %q, got %q (%v)", text, got, err)
		}
	}
	// What fails half-way leaves what was there.
	broken := errors.New("broken")
	err := s.KeepSnapshot(root, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, broken)
	})
	fail.Diff(t, broken, err, cmpopts.EquateErrors())
	files, err := os.ReadDir(filepath.Join(cache, "catalogs"))
	if err != nil || len(files) != 1 {
		t.Errorf("the folder has %v (%v)", files, err)
	}
	if _, err := s.Snapshot("sha256:../../etc/passwd"); err == nil {
		t.Error("an invalid digest was found")
	}
	// What was not used for long goes.
	fail.On(t, s.Expire(time.Now().Add(-time.Hour)))
	if f, err := s.Snapshot(root); err != nil {
		t.Error("a snapshot in use is removed")
	} else if err := f.Close(); err != nil {
		t.Error(err)
	}
	fail.On(t, s.Expire(time.Now().Add(time.Hour)))
	if _, err := s.Snapshot(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old snapshot is still there: %v", err)
	}
}
