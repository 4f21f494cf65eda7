package env

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A file is a folder that lists only the file, also through a symbolic link. Journals beside the
// file it leads to can be opened, and nothing else.
func TestDirOfFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"index.db", "index.db-journal", "index.dbx"} {
		fail.On(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(dir, "index.db"), link); err != nil {
		t.Skip("no symbolic links here")
	}
	fsys, err := LocalFiles{}.Dir(link)
	fail.On(t, err)
	names, err := fs.Glob(fsys, "*")
	if diff := cmp.Diff([]string{"index.db"}, names); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := fs.Stat(fsys, "index.db-journal"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"index.dbx", "index.db-wal", "index.db-/../index.dbx"} {
		if _, err := fs.Stat(fsys, name); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
