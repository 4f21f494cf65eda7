package archive

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
)

// TestTidiesBehindACompleteArchive checks that if a run was killed after its archive was complete
// and before its folder was removed, the next run removes the folder.
func TestTidiesBehindACompleteArchive(t *testing.T) {
	s := newSample(1, 20000, 512)
	for name, inside := range map[string][]string{
		"all":       {lockName, journalName, asideName + "/" + journalName, asideName + "/" + volumeName(1, 1)},
		"last file": {lockName},
		"empty":     nil,
		"tidied":    {lockName, journalName},
	} {
		dir := t.TempDir()
		s.write(t, dir, Options{})
		want := folder(t, dir)
		leave(t, dir, inside...)
		if name == "tidied" {
			fail.On(t, Tidy(dir, nil))
		} else {
			w := begin(t, dir, s, Options{})
			if !w.Complete() {
				t.Errorf("%s: the archive is complete, and another is started", name)
			}
			fail.On(t, w.Close())
		}
		if diff := cmp.Diff(want, folder(t, dir)); diff != "" {
			t.Errorf("%s: %.500s", name, diff)
		}
		if _, err := os.Stat(filepath.Join(dir, partialName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder of the run that was killed is still there: %v", name, err)
		}
	}
}

// leave makes files in the partial folder.
func leave(t *testing.T, dir string, names ...string) {
	t.Helper()
	fail.On(t, os.MkdirAll(filepath.Join(dir, partialName, asideName), 0o755))
	for _, name := range names {
		fail.On(t, os.WriteFile(filepath.Join(dir, partialName, name), []byte("left\n"), 0o600))
	}
}

// TestTidiesReplacedSets checks that the sets which the killed run was to replace are removed as
// well, but only after such a run.
func TestTidiesReplacedSets(t *testing.T) {
	dir := t.TempDir()
	old, s := newSample(1, 20000, 512), newSample(2, 20000, 512)
	old.write(t, dir, Options{})
	s.write(t, dir, Options{}) // beside the old set, as a run that is killed at this point leaves them
	replace := Options{Replace: true}
	has := func() bool {
		_, err := os.Stat(filepath.Join(dir, setName(1)))
		return err == nil
	}
	again := func() {
		t.Helper()
		fail.On(t, begin(t, dir, s, replace).Close())
	}
	if again(); !has() {
		t.Error("a set was removed though nothing was interrupted")
	}
	leave(t, dir, lockName)
	if again(); has() {
		t.Error("the set that was to be replaced is still there")
	}
	s.check(t, dir)
}

// TestTidiesNothingOfUse checks that unfinished work that another run can continue is kept, and the
// folder of a run in progress too.
func TestTidiesNothingOfUse(t *testing.T) {
	s, other := newSample(1, 20000, 512), newSample(2, 300000, 512)
	dir := t.TempDir()
	s.write(t, dir, Options{})
	w := begin(t, dir, other, Options{})
	e := other.Entries[0]
	fail.On(t, errors.Join(w.PutBlob(t.Context(), "", e, other.open(e.Digest)), w.Close()))
	before := names(t, filepath.Join(dir, partialName))
	fail.On(t, begin(t, dir, s, Options{}).Close())
	if diff := cmp.Diff(before, names(t, filepath.Join(dir, partialName))); diff != "" || !slices.Contains(before, journalName) {
		t.Errorf("unfinished work was touched: %s", diff)
	}
	w = begin(t, dir, other, Options{})
	fail.Diff(t, len(other.Entries)-1, other.put(t, w))
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))

	leave(t, dir, journalName)
	partial, err := os.OpenRoot(filepath.Join(dir, partialName))
	fail.On(t, err)
	defer func() { _ = partial.Close() }() // only read
	lock, err := lockfile.Acquire(partial, lockName)
	fail.On(t, err)
	before = names(t, filepath.Join(dir, partialName))
	fail.On(t, begin(t, dir, other, Options{}).Close())
	fail.Diff(t, before, names(t, filepath.Join(dir, partialName)))
	fail.On(t, lock.Release())
}
