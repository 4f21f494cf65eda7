package durable

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// folder returns a new folder with an empty folder "sub" in it.
func folder(t *testing.T) Folder {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	fail.On(t, err)
	t.Cleanup(func() { _ = root.Close() })
	fail.On(t, root.Mkdir("sub", 0o755))
	return Folder{Root: root}
}

// names returns the names of the files in the folder.
func names(t *testing.T, f Folder) []string {
	t.Helper()
	var list []string
	err := fs.WalkDir(f.Root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			list = append(list, name)
		}
		return err
	})
	fail.On(t, err)
	return list
}

func TestWriteFile(t *testing.T) {
	for name, tc := range map[string]struct {
		write func(string, []byte) error
		mode  fs.FileMode
	}{
		"WriteFile":    {WriteFile, 0o644},
		"WritePrivate": {WritePrivate, 0o600},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.json")
			for _, text := range []string{"one", "two, which is longer", ""} {
				fail.On(t, tc.write(path, []byte(text)))
				got, err := os.ReadFile(path)
				if err != nil || string(got) != text {
					t.Fatalf("read %q, %v; want %q", got, err, text)
				}
			}
			info, err := os.Stat(path)
			fail.On(t, err)
			if mode := info.Mode().Perm(); mode&^tc.mode != 0 || mode&0o600 != 0o600 {
				t.Errorf("mode %v, want %v less the umask", mode, tc.mode)
			}
			if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestWriteFileFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent", "state.json")
	if err := WriteFile(path, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("WriteFile into an absent folder = %v", err)
	}
	f := folder(t)
	if err := f.WriteFile("sub", []byte("x")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	for _, name := range []string{"../x", "sub/../../x", "/x"} {
		if err := f.WriteFile(name, []byte("x")); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if left := names(t, f); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestDraft(t *testing.T) {
	for _, noSync := range []bool{false, true} {
		f := folder(t)
		f.NoSync = noSync
		fail.On(t, f.WriteFile("sub/x", []byte("old")))
		kept, err := f.Draft("sub")
		fail.On(t, err)
		dropped, err := f.Draft("sub")
		fail.On(t, err)
		for _, d := range []*Draft{kept, dropped} {
			_, err := d.Write([]byte("half of "))
			fail.On(t, err)
		}
		if text, err := f.Root.ReadFile("sub/x"); err != nil || string(text) != "old" {
			t.Errorf("before the end it is %q, %v", text, err)
		}
		if list := names(t, f); len(list) != 3 || !IsTemporary(list[0]) || !IsTemporary(list[1]) || IsTemporary(list[2]) {
			t.Errorf("files while drafts are open: %v", list)
		}
		_, err = kept.Write([]byte("the new"))
		fail.On(t, errors.Join(err, dropped.Discard(), kept.Commit("sub/x")))
		if text, err := f.Root.ReadFile("sub/x"); err != nil || string(text) != "half of the new" {
			t.Errorf("it has become %q, %v", text, err)
		}
		fail.Diff(t, []string{"sub/x"}, names(t, f))
	}
}

func TestSweep(t *testing.T) {
	f := folder(t)
	now := time.Now()
	var drafts []string
	var open *Draft
	for i := range 3 {
		d, err := f.Draft("sub")
		fail.On(t, err)
		if open = d; i < 2 { // as if its run died
			fail.On(t, d.file.Close())
		}
		drafts = append(drafts, d.name)
	}
	for name, at := range map[string]time.Time{drafts[0]: now.Add(-time.Hour), drafts[1]: now} {
		fail.On(t, f.Root.Chtimes(name, at, at))
	}
	old := now.Add(-time.Hour)
	if err := errors.Join(
		f.WriteFile("sub/kept", nil), f.Root.Chtimes("sub/kept", old, old),
		f.Root.Mkdir("sub/"+tempPrefix+"folder", 0o755), f.Root.Chtimes("sub/"+tempPrefix+"folder", old, old),
		f.Sweep("sub", now.Add(-time.Minute)), f.Sweep("absent", now),
	); err != nil {
		t.Fatal(err)
	}
	want := []string{drafts[2], "sub/kept"} // the first is old, the second is not open
	if !sweepsUnlocked {
		want = append(want, drafts[1])
	}
	slices.Sort(want)
	fail.Diff(t, want, names(t, f))
	if info, err := f.Root.Stat("sub/" + tempPrefix + "folder"); err != nil || !info.IsDir() {
		t.Errorf("a folder was removed: %v", err)
	}
	fail.On(t, open.Commit("sub/open"))
}

// TestSweepWhileWriting sweeps a folder all the time while files are written in it.
func TestSweepWhileWriting(t *testing.T) {
	f := folder(t)
	f.NoSync = true
	ctx, stop := context.WithCancel(t.Context())
	var g sync.WaitGroup
	for range 2 {
		g.Go(func() {
			for ctx.Err() == nil {
				if err := f.Sweep("sub", time.Now().Add(-time.Hour)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 300 {
		if err := f.WriteFile("sub/x", []byte{byte(i)}); err != nil {
			t.Error(err)
		}
	}
	stop()
	g.Wait()
}

// TestDraftNamesItsFolder checks that errors name the folder, not the temporary file, whose name
// means nothing to the user.
func TestDraftNamesItsFolder(t *testing.T) {
	f := folder(t)
	d, err := f.Draft("sub")
	fail.On(t, err)
	fail.On(t, d.file.Close())
	_, err = d.Write([]byte("x"))
	if !errors.Is(err, fs.ErrClosed) || !strings.Contains(err.Error(), filepath.Join(f.Root.Name(), "sub")+":") || strings.Contains(err.Error(), tempPrefix) {
		t.Errorf("Write = %v", err)
	}
}

// TestWriteIsWholeOrNot checks that text that was not written completely replaces nothing.
func TestWriteIsWholeOrNot(t *testing.T) {
	broken := errors.New("it broke")
	path := filepath.Join(t.TempDir(), "file")
	for _, tc := range []struct {
		text string
		err  error
		want string
	}{{"first", nil, "first"}, {"second", broken, "first"}, {"third", nil, "third"}} {
		err := Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, tc.text)
			return errors.Join(err, tc.err)
		})
		if !errors.Is(err, tc.err) {
			t.Errorf("%s: Write = %v, want %v", tc.text, err, tc.err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != tc.want {
			t.Errorf("%s: the file has %q, %v; want %q", tc.text, got, err, tc.want)
		}
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 {
		t.Errorf("the folder has %v, %v", names, err)
	}
}
