//go:build unix

package regular

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestIsExposed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[fs.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true, 0o620: true, 0o644: true} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := IsExposed(info); got != want {
			t.Errorf("mode %04o: %t", mode, got)
		}
	}
	info, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if IsExposed(info) {
		t.Error("a folder is exposed")
	}
}
