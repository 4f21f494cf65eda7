package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// A cache that cannot be written, such as another user's, is not used.
func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if !writable(dir) {
		t.Error("a new folder is said not to be writable")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if writable(filepath.Join(dir, "gone")) {
		t.Error("a folder that is not there is said to be writable")
	}
}
