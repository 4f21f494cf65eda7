package archive

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/file/space"
)

func TestSpaceIsCheckedFirst(t *testing.T) {
	s := newSample(1, 300_000, 200_000)
	want := reference(t, s, Options{})
	volume := int64(len(want[volumeName(1, 1)]))
	with := func(n int64) Options { return Options{freeSpace: func(string) (int64, error) { return n, nil }} }
	dir := t.TempDir()
	_, err := Create(t.Context(), dir, s.content(), with(volume))
	var unusable *space.Error
	if !errors.As(err, &unusable) {
		t.Fatalf("Create = %v", err)
	}
	if unusable.Dir != dir || unusable.Available != volume || unusable.Needed <= volume || unusable.Needed > volume+volume/50 {
		t.Errorf("%+v, the volume has %d bytes", unusable, volume)
	}
	fail.Diff(t, []string(nil), names(t, dir))
	needed := unusable.Needed

	w := begin(t, dir, s, with(needed))
	for _, e := range s.Entries {
		if e.Size == 300_000 {
			fail.On(t, w.PutBlob(t.Context(), "", e, s.open(e.Digest)))
		}
	}
	fail.On(t, w.Close())
	// Content that is already present needs no additional space.
	if _, err := Create(t.Context(), dir, s.content(), with(100_000)); !errors.As(err, &unusable) {
		t.Fatalf("Create = %v", err)
	}
	if unusable.Needed >= needed-290_000 {
		t.Errorf("%d bytes are needed, with 300,000 of %d there", unusable.Needed, needed)
	}
	w = begin(t, dir, s, with(unusable.Needed))
	fail.Diff(t, len(s.Entries)-1, s.put(t, w))
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	s.check(t, dir)
}

func TestSpaceThatCannotBeKnown(t *testing.T) {
	s := newSample(1, 1000)
	w := begin(t, t.TempDir(), s, Options{freeSpace: func(string) (int64, error) { return 0, errors.ErrUnsupported }})
	fail.On(t, w.Close())
	broken := errors.New("broken")
	if _, err := Create(t.Context(), t.TempDir(), s.content(), Options{freeSpace: func(string) (int64, error) { return 0, broken }}); !errors.Is(err, broken) {
		t.Errorf("Create = %v", err)
	}
}

// TestLargestFile checks that a file system that does not support files of the volume size is
// reported before the first byte is written.
func TestLargestFile(t *testing.T) {
	s, dir := newSample(1, 100_000), t.TempDir()
	opts := Options{maxFileSize: func(string) (int64, error) { return 64 << 10, nil }}
	_, err := Create(t.Context(), dir, s.content(), opts)
	says(t, err, "files of at most 65536 bytes, and gantry-000001.0001.tar would have", "Options.VolumeSize, for FAT32 fat32")
	fail.Diff(t, []string(nil), names(t, dir))
	opts.VolumeSize = 64 << 10
	s.write(t, dir, opts)
	s.check(t, dir)
	if n, err := maxFileSize(dir); err != nil && !errors.Is(err, errors.ErrUnsupported) || err == nil && n < maxSet {
		t.Errorf("largestFile = %d, %v", n, err)
	}
}

func TestWriteErrors(t *testing.T) {
	s, dir := newSample(1, 1000), t.TempDir()
	w := begin(t, dir, s, Options{freeSpace: func(string) (int64, error) { return 1 << 30, nil }})
	defer w.Close()
	w.opts.freeSpace = func(string) (int64, error) { return 12, nil }
	var unusable *space.Error
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	if err := w.writeError(full, "x"); !errors.As(err, &unusable) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("ENOSPC is %v", err)
	}
	if diff := cmp.Diff(space.Error{Dir: dir, Needed: w.remaining, Available: 12, Err: full}, *unusable, cmpopts.EquateErrors()); diff != "" || w.remaining < 1000 {
		t.Error(diff, w.remaining)
	}
	if err := w.writeError(&os.PathError{Op: "write", Path: "x", Err: syscall.EFBIG}, "x"); !strings.Contains(advice.Text(err), "smaller Options.VolumeSize") {
		t.Errorf("EFBIG is %v", err)
	}
}
