package site_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestLayoutNeedsSpace checks that nothing is written without enough space, that leftovers of another run are removed to
// make space, and that content which is present needs none.
func TestLayoutNeedsSpace(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	small, disk := s.Medium("small", 1), s.Medium("disk", 18)
	run := func(dir string) error {
		o := s.MirrorOptions(s.Path("imageset.yaml"), "oci://"+dir)
		o.Env = s.NewEnv()
		_, err := mirroring.Run(t.Context(), o)
		return err
	}
	mirrortest.Refused(t, run(filepath.Join(small, "to", "layout")), advice.NoSpace, "not enough space in "+small, "more and run again")
	if s.Exists("small/to") {
		t.Error("the folder was made")
	}

	blobs := filepath.Join(disk, "layout", "blobs", "sha256")
	left := filepath.Join(blobs, ".tmp-LEFTBYADEADRUN")
	fail.On(t, os.MkdirAll(blobs, 0o755))
	fail.On(t, os.WriteFile(left, make([]byte, 16<<20), 0o600))
	fail.On(t, run(filepath.Join(disk, "layout")))
	if _, err := os.Stat(left); err == nil {
		t.Error("the leftovers of the other run are still there")
	}

	// Only the lost blob needs space.
	all, err := os.ReadDir(blobs)
	fail.On(t, err)
	size := func(e os.DirEntry) int64 {
		info, err := e.Info()
		fail.On(t, err)
		return info.Size()
	}
	largest := slices.MaxFunc(all, func(a, b os.DirEntry) int { return int(size(a) - size(b)) })
	need := size(largest)
	s.Remove("disk/layout/blobs/sha256/" + largest.Name())
	fill, _ := s.Filler(disk)
	fill()
	mirrortest.Refused(t, run(filepath.Join(disk, "layout")), advice.NoSpace, "space")
	filler, err := os.Stat(filepath.Join(disk, "filler"))
	if err == nil {
		err = os.Truncate(filepath.Join(disk, "filler"), filler.Size()-need-64<<10)
	}
	fail.On(t, err)
	if err := run(filepath.Join(disk, "layout")); err != nil {
		t.Error(err)
	}
	if !s.Exists("disk/layout/blobs/sha256/" + largest.Name()) {
		t.Error("the lost blob is still missing")
	}
}
