package state

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// SaveRecord replaces the record of one image set and copies the others.
func TestSaveRecordKeepsOthers(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	want := map[string]Record{}
	for i, name := range []string{"b", "a", `"c"`, "b"} {
		r := catalogRecord("h/org/index:v1", "org/index", "v1", "one", name)
		r.Runs = i
		fail.On(t, w.SaveRecord("mirror", name, &r))
		want[name] = r
		got, err := w.Records("mirror")
		fail.On(t, err)
		fail.Diff(t, want, got, cmpopts.EquateEmpty())
	}
	if other, err := w.Records("other"); err != nil || len(other) != 0 {
		t.Errorf("another mirror has %v, %v", other, err)
	}
	for _, text := range []string{"", "[]", `{"a": 1}`, `{"a": {}`} {
		fail.On(t, os.WriteFile(filepath.Join(dir, "mirrors", "mirror.json"), []byte(text), 0o600))
		if _, err := w.Records("mirror"); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
