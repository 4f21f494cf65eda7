package state

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// TestLayout checks that another layout moves the manifests of each mirror, removes those that Gantry
// wrote before, and leaves the files of the user. The workspace keeps the layout.
func TestLayout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "workspace")
	w := open(t, dir)
	file := func(name string) []resources.File { return []resources.File{{Name: name, Text: []byte("kind: X\n")}} }
	save := func(mirror, name, want string) {
		t.Helper()
		got, _, err := w.SaveResources(mirror, file(name))
		if err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s of %s is in %s, %v", name, mirror, got, err)
		}
	}
	save("one", "a.yaml", "cluster-resources")
	save("two", "b.yaml", "cluster-resources-two")
	fail.On(t, os.WriteFile(filepath.Join(dir, "cluster-resources", "mine.yaml"), nil, 0o600))
	fail.On(t, w.UseLayout(OCMirrorLayout, true))
	if before, err := w.SavedResources("two", []string{"c.yaml"}); err != nil || len(before) != 1 || before[0].Name != "cluster-resources-two/b.yaml" {
		t.Errorf("before: %v, %v", before, err)
	}
	save("two", "c.yaml", "working-dir/cluster-resources-two")
	save("one", "d.yaml", "working-dir/cluster-resources")
	if _, text, err := ReadResource(dir, "one", "d.yaml"); err != nil || len(text) == 0 {
		t.Errorf("read %q, %v", text, err)
	}
	if path, err := w.SaveFile("logs/x.txt", nil); err != nil || path != filepath.Join(dir, "working-dir/logs/x.txt") {
		t.Errorf("a file is at %s, %v", path, err)
	}
	fail.On(t, w.Close())
	w = open(t, dir)
	fail.Diff(t, OCMirrorLayout, w.UsesLayout())
	var left []string
	for _, pattern := range []string{"cluster*", "cluster*/*", "working-dir/*", "working-dir/*/*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		fail.On(t, err)
		for _, name := range names {
			rel, err := filepath.Rel(dir, name)
			fail.On(t, err)
			left = append(left, rel)
		}
	}
	want := []string{"cluster-resources", "cluster-resources/mine.yaml",
		"working-dir/cluster-resources", "working-dir/cluster-resources-two", "working-dir/cluster-resources-two.txt", "working-dir/cluster-resources.txt", "working-dir/logs",
		"working-dir/cluster-resources/d.yaml", "working-dir/cluster-resources-two/c.yaml", "working-dir/logs/x.txt"}
	fail.Diff(t, want, left)
}

// TestLayoutInWorkingDir checks that a workspace with the name of oc mirror's folder is that folder.
func TestLayoutInWorkingDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "working-dir")
	w := open(t, dir)
	fail.On(t, w.UseLayout(OCMirrorLayout, false))
	fail.Diff(t, filepath.Join(dir, "cluster-resources"), w.ResourcesDir("one"))
}
