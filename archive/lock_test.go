package archive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLock(t *testing.T) {
	s, dir := newSample(1, 1000), t.TempDir()
	unsupported := func(*os.File) error { return errors.ErrUnsupported }
	for name, f := range map[string]func(*os.File) error{"flock": nil, "none": unsupported} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, dir, s, Options{flock: f})
			_, err := Create(t.Context(), dir, s.Content, Options{flock: f})
			var locked *LockedError
			if !errors.As(err, &locked) || !strings.Contains(locked.Holder, fmt.Sprintf("process %d on ", os.Getpid())) {
				t.Fatalf("Create = %v", err)
			}
			if (f != nil) != (locked.Lock != "") {
				t.Errorf("the lock is said to be %q", locked.Lock)
			}
			s.put(t, w) // the other did no harm
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			w = begin(t, dir, s, Options{flock: f})
			if !w.Has(s.Entries[0]) {
				t.Error("the work of the first run is lost")
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestLockThatOutlivedItsRun(t *testing.T) {
	s := newSample(1, 1000)
	opts := Options{flock: func(*os.File) error { return errors.ErrUnsupported }}
	for name, tc := range map[string]struct {
		text   string
		locked bool
	}{
		"empty":        {"", false},
		"dead":         {"process 2147483646 on " + host() + " since 2026-01-01T00:00:00Z", false},
		"alive":        {fmt.Sprintf("process %d on %s since 2026-01-01T00:00:00Z", os.Getpid(), host()), true},
		"another host": {"process 1 on elsewhere since 2026-01-01T00:00:00Z", true},
		"scribble":     {"?", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, partialName, lockName)
			if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(tc.text), 0o644)); err != nil {
				t.Fatal(err)
			}
			w, err := Create(t.Context(), dir, s.Content, opts)
			var locked *LockedError
			if errors.As(err, &locked) != tc.locked || !tc.locked && err != nil {
				t.Fatalf("Create = %v", err)
			}
			if tc.locked {
				if !strings.Contains(err.Error(), "remove "+path) {
					t.Errorf("no way out is shown: %v", err)
				}
				return
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string(nil), names(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Many runs at once: one of them writes at a time, and nobody harms another.
func TestLockRace(t *testing.T) {
	s, dir := newSample(1, 1000), t.TempDir()
	done := make(chan error)
	for range 8 {
		go func() {
			w, err := Create(t.Context(), dir, s.Content, Options{})
			if err == nil {
				for _, e := range s.Entries {
					err = errors.Join(err, w.PutBlob(t.Context(), "", e, s.open(e.Digest)))
				}
				err = errors.Join(err, w.Finish(t.Context()), w.Close())
			}
			var locked *LockedError
			if errors.As(err, &locked) {
				err = nil
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	s.check(t, dir)
	if diff := cmp.Diff([]string{volumeName(1, 1), setName(1), sumName(1)}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}
