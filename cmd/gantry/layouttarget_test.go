package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestLayoutNeedsSpace checks that a layout fails before its first byte is written if there is not
// enough space, and that if the space is used up during writing, the error contains the number of
// missing bytes.
func TestLayoutNeedsSpace(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc, small := w.path("imageset.yaml"), w.medium("small", 1)
	words := []string{"not enough space in " + small, "more and run again"}
	dest := ociScheme + filepath.Join(small, "to", "layout")
	w.refuse(exitNoSpace, words, "mirror", "-c", isc, dest)
	if left := w.tree("small"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Stat(filepath.Join(small, "to")); err == nil {
		t.Error("the folder was made")
	}

	// Leftovers of an interrupted run are removed to free the missing space.
	medium := w.medium("medium", 18)
	dest = ociScheme + filepath.Join(medium, "layout")
	left := filepath.Join(medium, "layout", "blobs", "sha256", ".tmp-LEFTBYADEADRUN")
	if err := os.MkdirAll(filepath.Dir(left), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(medium, "filler")
	w.must("mirror", "-c", isc, dest)
	if _, err := os.Stat(left); err == nil {
		t.Error("the leftovers of the interrupted run are still there")
	}

	// Content that is already present needs no space. Only the lost blobs do.
	blobs, err := filepath.Glob(filepath.Join(medium, "layout", "blobs", "sha256", "*"))
	if err != nil || len(blobs) < 10 {
		t.Fatal(blobs, err)
	}
	var lost string
	var size int64
	for _, b := range blobs {
		if info, err := os.Stat(b); err == nil && info.Size() > size {
			lost, size = b, info.Size()
		}
	}
	if err := os.Remove(lost); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filler, os.O_WRONLY|os.O_CREATE, 0o600)
	for err == nil {
		_, err = f.Write(make([]byte, 4<<10))
	}
	_ = f.Close() // the volume is full
	info, err := os.Stat(filler)
	if err != nil {
		t.Fatal(err)
	}
	w.refuse(exitNoSpace, []string{"space"}, "mirror", "-c", isc, dest)
	if err := os.Truncate(filler, info.Size()-size-64<<10); err != nil {
		t.Fatal(err)
	}
	w.must("mirror", "-c", isc, dest)
	if _, err := os.Stat(lost); err != nil {
		t.Error(err)
	}
}
