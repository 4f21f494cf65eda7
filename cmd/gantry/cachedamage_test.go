package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestDamagedCache alters a byte of every file in the cache of the workspace: the next run reads that
// content again, with a configuration and with a plan, and succeeds.
func TestDamagedCache(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc, lock := w.path("imageset.yaml"), w.path("plan.json")
	w.must("plan", "-c", isc, "-o", lock)
	want, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-c", isc, w.docker("/config")}, {"--plan", lock, w.docker("/plan")}} {
		files := w.glob(w.path("workspace/cache/blobs/sha256/*"))
		files = append(files, w.glob(w.path("workspace/cache/catalogs/*"))...)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text[len(text)/2] ^= 1
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w.must(append([]string{"mirror"}, args...)...)
		w.verify(filepath.Base(args[len(args)-1]), acme, 4)
	}
	w.must("plan", "-c", isc, "-o", lock)
	if again, err := os.ReadFile(lock); err != nil || cmp.Diff(want, again) != "" {
		t.Errorf("the plan is another one: %v", err)
	}
}
