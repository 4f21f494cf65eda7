package serve

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// Files of an earlier run that no longer apply are removed; other files stay.
func TestSaveServed(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "manifests")
	write := func(name, text string) {
		t.Helper()
		fail.On(t, os.WriteFile(filepath.Join(base, name), []byte(text), 0o600))
	}
	fail.On(t, os.Mkdir(dir, 0o755))
	save := func(want []string, names ...string) {
		t.Helper()
		var files []resources.File
		for _, name := range names {
			files = append(files, resources.File{Name: name, Text: []byte("kind: " + name)})
		}
		if removed, err := saveServed(dir, files); err != nil || !slices.Equal(removed, want) {
			t.Errorf("removed %v, %v, want %v", removed, err, want)
		}
	}
	save(nil, "a.yaml", "b.yaml")
	write("manifests/mine.yaml", "mine")
	write("outside.yaml", "mine")
	save(nil, "a.yaml", "b.yaml")
	save([]string{"a.yaml"}, "b.yaml", "c.yaml")
	write("manifests/"+servedList, "../outside.yaml\nb.yaml\ngone.yaml\n")
	save([]string{"b.yaml"}, "c.yaml")
	entries, err := os.ReadDir(dir)
	fail.On(t, err)
	got := elements.Map(entries, func(e os.DirEntry) string { return e.Name() })
	fail.Diff(t, []string{servedList, "c.yaml", "mine.yaml"}, got)
	_, err = os.Stat(filepath.Join(base, "outside.yaml"))
	fail.On(t, err)
	if _, err := saveServed(filepath.Join(base, "absent"), nil); err == nil {
		t.Error("a folder that is not there was written to")
	}
}
