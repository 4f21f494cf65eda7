package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan"
)

// TestExtractNeedsSpace extracts to a disk that is too small, and to one with space for the missing
// content only.
func TestExtractNeedsSpace(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	disk, have, p := w.disk("disk")
	small := w.medium("small", 1)
	blob := largest(have, "gantry-000001.0002.tar")
	if p.Totals.Bytes < 9<<17 || blob.ContentSize < 64<<10 {
		t.Fatalf("%d bytes, and the largest blob has %d", p.Totals.Bytes, blob.ContentSize)
	}
	refused := func(args ...string) {
		t.Helper()
		before := w.tree("small")
		w.refuseLook(exitNoSpace, []string{"not enough space in " + small, "more and run again"}, append([]string{"archive", "extract", disk}, args...)...)
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

	// Content that is already present needs no space.
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
	_ = filler.Close() // it contains only zeros
	w.looked(exitOK, "archive", "extract", disk, "--to", filepath.Join(small, "layout"), "--image", string(one.Digest))

	// A single blob needs as much space as its size.
	refused("--to", filepath.Join(small, "blob"), "--digest", blob.Digest.String())
}
