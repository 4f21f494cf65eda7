package archive

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestFiles checks that everything that belongs to a set is listed, and nothing else.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{
		"gantry-000002.0001.tar": 5, "gantry-000002.0002.tar": 4, "gantry-000002.json": 3, "gantry-000002.json.sha256": 2, "gantry-000002.json.sig": 1,
		"gantry-000002-repair.json": 9, "gantry-000001.0001.tar": 9, "gantry-000002.txt": 9, "notes.json": 9,
	} {
		fail.On(t, os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600))
	}
	got, err := Files(dir, 2)
	want := []FileInfo{
		{"gantry-000002.0001.tar", 5}, {"gantry-000002.0002.tar", 4}, {"gantry-000002.json", 3}, {"gantry-000002.json.sha256", 2}, {"gantry-000002.json.sig", 1},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := Files(filepath.Join(dir, "none"), 2); err == nil {
		t.Error("a folder that does not exist has files")
	}
}
