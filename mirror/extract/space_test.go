package extract_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestNoSpace extracts to a disk that is too small, and to one with space for the missing content only.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	disk, have, p := s.Disk("disk")
	small := s.Medium("small", 1)
	blob := mirrortest.Largest(have, "gantry-000001.0002.tar")
	var one *plan.Image
	for i := range p.Images {
		if p.Images[i].Size < 256<<10 {
			one = &p.Images[i]
		}
	}
	if p.Totals.Bytes < 9<<17 || blob.ContentSize < 64<<10 || one == nil {
		t.Fatalf("%d bytes, the largest blob has %d, a small image: %v", p.Totals.Bytes, blob.ContentSize, one)
	}
	refused := func(run func() error) {
		t.Helper()
		before, err := os.ReadDir(small)
		mirrortest.Refused(t, run(), advice.NoSpace, "not enough space in "+small, "more and run again")
		after, err2 := os.ReadDir(small)
		if err != nil || err2 != nil || len(after) != len(before) {
			t.Errorf("%v was written, %v, %v", after, err, err2)
		}
	}
	all := func() error {
		_, err := extract.Images(t.Context(), images(s, filepath.Join(small, "layout"), disk))
		return err
	}
	single := func() error {
		o := images(s, filepath.Join(small, "layout"), disk)
		o.Images = []string{string(one.Digest)}
		_, err := extract.Images(t.Context(), o)
		return err
	}
	refused(all)
	fail.On(t, single())
	refused(all)

	// Content that is already present needs no space.
	fill, _ := s.Filler(small)
	fill()
	filler := filepath.Join(small, "filler")
	info, err := os.Stat(filler)
	if err == nil {
		err = os.Truncate(filler, info.Size()-16<<10)
	}
	fail.On(t, err)
	fail.On(t, single())
	// A single blob needs as much space as its size.
	refused(func() error {
		return extract.Content(t.Context(), extract.ContentOptions{Options: open.Options{Env: s.Env, Folders: []string{disk}}, To: filepath.Join(small, "blob"), Digest: blob.Digest})
	})
}
