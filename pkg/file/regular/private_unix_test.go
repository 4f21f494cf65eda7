//go:build unix

package regular

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestIsExposed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	fail.On(t, os.WriteFile(file, nil, 0o600))
	for mode, want := range map[fs.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true, 0o620: true, 0o644: true} {
		fail.On(t, os.Chmod(file, mode))
		info, err := os.Stat(file)
		fail.On(t, err)
		if got := IsExposed(info); got != want {
			t.Errorf("mode %04o: %t", mode, got)
		}
	}
	info, err := os.Stat(t.TempDir())
	fail.On(t, err)
	if IsExposed(info) {
		t.Error("a folder is exposed")
	}
}
