package archive

import (
	"errors"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
)

func TestLock(t *testing.T) {
	s, dir := newSample(1, 1000), t.TempDir()
	w := begin(t, dir, s, Options{})
	_, err := Create(t.Context(), dir, s.content(), Options{})
	var locked *lockfile.LockedError
	if !errors.As(err, &locked) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("Create = %v", err)
	}
	s.put(t, w) // the other run did no damage
	fail.On(t, w.Close())
	w = begin(t, dir, s, Options{})
	if !w.Has(s.Entries[0]) {
		t.Error("the work of the first run is lost")
	}
	fail.On(t, w.Close())
}

// TestLockRace checks that only one of many concurrent runs writes at a time, and that none damages
// the work of another.
func TestLockRace(t *testing.T) {
	s, dir := newSample(1, 1000), t.TempDir()
	done := make(chan error)
	for range 8 {
		go func() {
			w, err := Create(t.Context(), dir, s.content(), Options{})
			if err == nil {
				for _, e := range s.Entries {
					err = errors.Join(err, w.PutBlob(t.Context(), "", e, s.open(e.Digest)))
				}
				err = errors.Join(err, w.Finish(t.Context()), w.Close())
			}
			if _, ok := errors.AsType[*lockfile.LockedError](err); ok {
				err = nil
			}
			done <- err
		}()
	}
	for range 8 {
		fail.On(t, <-done)
	}
	s.check(t, dir)
	fail.Diff(t, []string{volumeName(1, 1), setName(1), sumName(1)}, names(t, dir))
}
