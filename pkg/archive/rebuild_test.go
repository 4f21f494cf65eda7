package archive

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// copyFolder copies the files of a folder, under other names, to a new one.
func copyFolder(t *testing.T, files map[string]string, rename func(string) string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		fail.On(t, os.WriteFile(filepath.Join(dir, rename(name)), []byte(text), 0o644))
	}
	return dir
}

// TestRebuildFromCopies damages copies of an archive in two folders at different places, far more than its one parity
// file could repair in either of them. A volume that is damaged in both gets the intact blocks of each.
func TestRebuildFromCopies(t *testing.T) {
	t.Parallel()
	one, files := redundant(t, 1, Options{})
	same := func(name string) string { return name }
	two := copyFolder(t, files, same)
	id := setID{sequence: 1}
	for dir, places := range map[string]map[string]int{
		one: {id.volume(1): 70_000, id.volume(2): 70_000, id.parity(1): 300_000},
		two: {id.volume(1): 200_000, id.volume(3): 70_000},
	} {
		for name, at := range places {
			alter(t, filepath.Join(dir, name), flip(8*int64(at)))
		}
	}
	to := filepath.Join(t.TempDir(), "to")
	done, err := rebuildIn(t, RebuildOptions{To: to}, one, two)
	if err != nil || len(done) != 1 || done[0].Name != id.volume(1) || done[0].Blocks != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	fail.Diff(t, map[string]string{id.volume(1): files[id.volume(1)]}, folder(t, to))
}

// TestRenamedParity rebuilds a volume from parity files whose names are in upper case, as after a copy over an old file
// system. Verify reads them too.
func TestRenamedParity(t *testing.T) {
	t.Parallel()
	_, files := redundant(t, 1, Options{})
	dir := copyFolder(t, files, strings.ToUpper)
	fail.On(t, inspect(t, dir))
	name := strings.ToUpper(setID{sequence: 1}.parity(1))
	undo := alter(t, filepath.Join(dir, name), flip(8*300_000))
	says(t, inspect(t, dir), name+": 1 of its")
	undo()
	lost := setID{sequence: 1}.volume(2)
	fail.On(t, os.Remove(filepath.Join(dir, strings.ToUpper(lost))))
	says(t, inspect(t, dir), lost)
	done, err := rebuildIn(t, RebuildOptions{}, dir)
	if err != nil || len(done) != 1 || !cmp.Equal(folder(t, dir)[lost], files[lost]) {
		t.Errorf("%+v, %v", done, err)
	}
}
