package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan"
)

// TestExtractNeedsRoom extracts to a medium that is too small, and to one that has room
// for what is lacking.
func TestExtractNeedsRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{})
	disk, have, p := w.disk("disk")
	small := w.medium("small", 1)
	blob := largest(have, "gantry-000001.0002.tar")
	if p.Totals.Bytes < 2<<20 || blob.Whole < 64<<10 {
		t.Fatalf("%d bytes, and the largest blob has %d", p.Totals.Bytes, blob.Whole)
	}
	refused := func(args ...string) {
		t.Helper()
		before := w.tree("small")
		w.refuseLook(exitNoSpace, []string{"not enough space in " + small, "make room for"}, append([]string{"archive", "extract", disk}, args...)...)
		if after := w.tree("small"); len(after) != len(before) {
			t.Errorf("%v wrote %v", args, after)
		}
	}
	refused("--to", filepath.Join(small, "to", "layout"))
	var one *plan.Image
	for i := range p.Images {
		if p.Images[i].Size < 256<<10 {
			one = &p.Images[i]
		}
	}
	if one == nil {
		t.Fatal("no image is small")
	}
	w.looked(exitOK, "archive", "extract", disk, "--to", filepath.Join(small, "layout"), "--image", string(one.Digest))
	refused("--to", filepath.Join(small, "layout"))

	// What is there needs no room again.
	filler, err := os.Create(filepath.Join(small, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for err == nil {
		var n int
		n, err = filler.Write(make([]byte, 4<<10))
		size += int64(n)
	}
	if err := filler.Truncate(size - 16<<10); err != nil {
		t.Fatal(err)
	}
	_ = filler.Close() // it is full of nothing
	w.looked(exitOK, "archive", "extract", disk, "--to", filepath.Join(small, "layout"), "--image", string(one.Digest))

	// One blob needs its own bytes.
	refused("--to", filepath.Join(small, "blob"), "--digest", blob.Digest.String())
}
