package state

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// SaveRecord replaces the record of one image set and copies the others.
func TestSaveRecordKeepsOthers(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	want := map[string]Record{}
	for i, name := range []string{"b", "a", `"c"`, "b"} {
		r := catalogRecord("h/org/index:v1", "org/index", "v1", "one", name)
		r.Runs = i
		if err := w.SaveRecord("mirror", name, &r); err != nil {
			t.Fatal(err)
		}
		want[name] = r
		got, err := w.Records("mirror")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
	if other, err := w.Records("other"); err != nil || len(other) != 0 {
		t.Errorf("another mirror has %v, %v", other, err)
	}
	for _, text := range []string{"", "[]", `{"a": 1}`, `{"a": {}`} {
		if err := os.WriteFile(filepath.Join(dir, "mirrors", "mirror.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Records("mirror"); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
