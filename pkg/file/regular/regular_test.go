package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestRead(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(
		os.WriteFile(outside, []byte("secret"), 0o644),
		os.Mkdir(in("sub"), 0o755),
		os.WriteFile(in("sub/file"), []byte("12345"), 0o644),
		os.WriteFile(in("empty"), nil, 0o644),
		os.Symlink("sub/file", in("link")),
		os.Symlink(outside, in("out")),
		os.Symlink(filepath.Dir(outside), in("elsewhere")),
	)
	fail.On(t, err)
	root, err := os.OpenRoot(dir)
	fail.On(t, err)
	defer root.Close()
	for name, tc := range map[string]struct {
		file    string
		limit   int64
		want    string
		problem string // "" if there is none
	}{
		"in a folder":         {"sub/file", 10, "12345", ""},
		"as long as it may":   {"sub/file", 5, "12345", ""},
		"a byte too long":     {"sub/file", 4, "", "sub/file: it has more than the 4 bytes that are allowed"},
		"empty":               {"empty", 0, "", ""},
		"absent":              {"absent", 10, "", "no such file"},
		"a folder":            {"sub", 10, "", "sub: not a regular file"},
		"a link":              {"link", 10, "", "link: not a regular file"},
		"a link that escapes": {"out", 10, "", "out: not a regular file"},
		"a folder elsewhere":  {"elsewhere/secret", 10, "", "escapes"},
		"a path that escapes": {"../" + filepath.Base(dir) + "/empty", 10, "", "escapes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(root, tc.file, tc.limit)
			if (err != nil) != (tc.problem != "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("Read = %v, want %q", err, tc.problem)
			}
			if string(got) != tc.want {
				t.Errorf("Read = %q, want %q", got, tc.want)
			}
			if name == "absent" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v is no fs.ErrNotExist", err)
			}
		})
	}
}
