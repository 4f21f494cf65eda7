package pull

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// TestLinksAreNotFollowed writes files of others over symbolic links: nothing is written through them, with and without
// force, into the folder of gantry archive extract --files and to the path of gantry get --to.
func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
	const text, kept = "0123456789", "kept"
	f := site.MirroredFile{Size: int64(len(text)), SHA256: digest.FromString(text)}
	for name, tc := range map[string]struct {
		file string // to write
		link string // in the folder
		to   string // what it links to, beside the folder unless it is local
		hint string
	}{
		"a link to a file":            {"a", "a", "../outside/present", "remove it"},
		"a dangling link":             {"a", "a", "../outside/absent", "remove it"},
		"a link to a file beside it":  {"a", "a", "b", "remove it"},
		"a linked parent":             {"d/a", "d", "../outside", "remove the symbolic link"},
		"a linked parent of a parent": {"d/e/a", "d", "../outside", "remove the symbolic link"},
		"a dangling parent":           {"d/a", "d", "../outside/absent", "remove the symbolic link"},
	} {
		for _, force := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				base := t.TempDir()
				outside, dir := filepath.Join(base, "outside"), filepath.Join(base, "to")
				if err := errors.Join(os.Mkdir(outside, 0o755), os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(outside, "present"), []byte(kept), 0o600),
					os.WriteFile(filepath.Join(dir, "b"), []byte(kept), 0o600), os.Symlink(tc.to, filepath.Join(dir, tc.link))); err != nil {
					t.Fatal(err)
				}
				s := &FileSource{images: &brokenSource{text: text, after: -1}, meter: &fileMeter{}}
				f := f
				f.Name = tc.file
				root, err := MakeRoot(dir)
				fail.On(t, err)
				defer root.Close()
				_, err = s.WriteBelow(t.Context(), f, root, force)
				if advice.KindOf(err) != advice.Input || !strings.Contains(advice.Hint(err), tc.hint) {
					t.Errorf("writeBelow = %v; %s", err, advice.Hint(err))
				}
				if !strings.Contains(tc.file, "/") {
					_, err = s.write(t.Context(), f, filepath.Join(dir, tc.file), force)
					if advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), "symbolic link") {
						t.Errorf("write = %v", err)
					}
				}
				unchanged(t, outside, dir, kept)
			})
		}
	}
}

// unchanged checks that only the files that were there are there.
func unchanged(t *testing.T, outside, dir, kept string) {
	t.Helper()
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside is %v, %v", entries, err)
	}
	for _, file := range []string{filepath.Join(outside, "present"), filepath.Join(dir, "b")} {
		if have, err := os.ReadFile(file); err != nil || string(have) != kept {
			t.Errorf("%s is %q, %v", file, have, err)
		}
	}
}

// TestLinksInTheFolder checks that a linked folder that stays in the folder is used, and that a device that a link names
// is written to.
func TestLinksInTheFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
	const text = "0123456789"
	f := site.MirroredFile{Name: "d/a", Size: int64(len(text)), SHA256: digest.FromString(text)}
	s := &FileSource{images: &brokenSource{text: text, after: -1}, meter: &fileMeter{}}
	dir := t.TempDir()
	fail.On(t, errors.Join(os.Mkdir(filepath.Join(dir, "other"), 0o755), os.Symlink("other", filepath.Join(dir, "d"))))
	root, err := MakeRoot(dir)
	fail.On(t, err)
	defer root.Close()
	_, err = s.WriteBelow(t.Context(), f, root, false)
	fail.On(t, err)
	if have, err := os.ReadFile(filepath.Join(dir, "other", "a")); err != nil || string(have) != text {
		t.Errorf("it is %q, %v", have, err)
	}
	fail.On(t, os.Symlink(os.DevNull, filepath.Join(dir, "null")))
	_, err = s.write(t.Context(), f, filepath.Join(dir, "null"), false)
	fail.On(t, err)
}

// TestAlteredFile checks that a file that was altered where it is read from is an error of verification.
func TestAlteredFile(t *testing.T) {
	t.Parallel()
	f := site.MirroredFile{Name: "a", Size: 4, SHA256: digest.FromString("good")}
	s := &FileSource{images: &brokenSource{text: "evil", after: -1}, meter: &fileMeter{}}
	to := filepath.Join(t.TempDir(), "a")
	if _, err := s.write(t.Context(), f, to, false); advice.KindOf(err) != advice.Mismatch {
		t.Errorf("write = %v", err)
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}
