package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/resources"
)

// What an earlier run wrote and no longer applies goes; what is somebody else's stays.
func TestSaveServed(t *testing.T) {
	t.Parallel()
	w := &world{t: t, dir: t.TempDir()}
	dir := w.path("manifests")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
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
	w.write("manifests/mine.yaml", "mine")
	w.write("outside.yaml", "mine")
	save(nil, "a.yaml", "b.yaml")
	save([]string{"a.yaml"}, "b.yaml", "c.yaml")
	w.write("manifests/"+servedList, "../outside.yaml\nb.yaml\ngone.yaml\n")
	save([]string{"b.yaml"}, "c.yaml")
	got := slices.Sorted(maps.Keys(w.tree("manifests")))
	if diff := cmp.Diff([]string{servedList, "c.yaml", "mine.yaml"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "outside.yaml")); err != nil {
		t.Error(err)
	}
	if _, err := saveServed(w.path("absent"), nil); err == nil {
		t.Error("a folder that is not there was written to")
	}
}
