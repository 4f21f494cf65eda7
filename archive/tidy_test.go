package archive

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/lockfile"
)

// A run that was killed when its archive was complete and its folder was not yet
// removed leaves nothing for good.
func TestTidiesBehindACompleteArchive(t *testing.T) {
	s := newSample(1, 20000, 512)
	for name, inside := range map[string][]string{
		"all":       {lockName, journalName, asideName + "/" + journalName, asideName + "/" + volumeName(1, 1)},
		"last file": {lockName},
		"empty":     nil,
	} {
		dir := t.TempDir()
		s.write(t, dir, Options{})
		want := folder(t, dir)
		leave(t, dir, inside...)
		w := begin(t, dir, s, Options{})
		if !w.Complete() {
			t.Errorf("%s: the archive is there, and another is begun", name)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
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
	if err := os.MkdirAll(filepath.Join(dir, partialName, asideName), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, partialName, name), []byte("left\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The sets that it was to replace go then, too, and only then.
func TestTidiesReplacedSets(t *testing.T) {
	dir := t.TempDir()
	old, s := newSample(1, 20000, 512), newSample(2, 20000, 512)
	old.write(t, dir, Options{})
	s.write(t, dir, Options{}) // beside the old one, as a run leaves them that is killed then
	replace := Options{Replace: true}
	has := func() bool {
		_, err := os.Stat(filepath.Join(dir, setName(1)))
		return err == nil
	}
	again := func() {
		t.Helper()
		if err := begin(t, dir, s, replace).Close(); err != nil {
			t.Fatal(err)
		}
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

// What another run could take up stays, and what one is at.
func TestTidiesNothingOfUse(t *testing.T) {
	s, other := newSample(1, 20000, 512), newSample(2, 300000, 512)
	dir := t.TempDir()
	s.write(t, dir, Options{})
	w := begin(t, dir, other, Options{})
	e := other.Entries[0]
	if err := errors.Join(w.PutBlob(t.Context(), "", e, other.open(e.Digest)), w.Close()); err != nil {
		t.Fatal(err)
	}
	before := names(t, filepath.Join(dir, partialName))
	if err := begin(t, dir, s, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, names(t, filepath.Join(dir, partialName))); diff != "" || !slices.Contains(before, journalName) {
		t.Errorf("unfinished work was touched: %s", diff)
	}
	w = begin(t, dir, other, Options{})
	if n := other.put(t, w); n != len(other.Entries)-1 {
		t.Errorf("%d entries were needed of %d, one of which was there", n, len(other.Entries))
	}
	if err := errors.Join(w.Finish(t.Context()), w.Close()); err != nil {
		t.Fatal(err)
	}

	leave(t, dir, journalName)
	partial, err := os.OpenRoot(filepath.Join(dir, partialName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = partial.Close() }() // only read from
	lock, err := lockfile.Acquire(partial, lockName)
	if err != nil {
		t.Fatal(err)
	}
	before = names(t, filepath.Join(dir, partialName))
	if err := begin(t, dir, other, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, names(t, filepath.Join(dir, partialName))); diff != "" {
		t.Errorf("the folder of a run that is under way was touched: %s", diff)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
}
