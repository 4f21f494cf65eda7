package archive

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/space"
)

func TestSpaceIsCheckedFirst(t *testing.T) {
	s := newSample(1, 300_000, 200_000)
	want := reference(t, s, Options{})
	volume := int64(len(want[volumeName(1, 1)]))
	with := func(n int64) Options { return Options{free: func(string) (int64, error) { return n, nil }} }
	dir := t.TempDir()
	_, err := Create(t.Context(), dir, s.content(), with(volume))
	var lacking *space.Error
	if !errors.As(err, &lacking) {
		t.Fatalf("Create = %v", err)
	}
	if lacking.Dir != dir || lacking.Available != volume || lacking.Needed <= volume || lacking.Needed > volume+volume/50 {
		t.Errorf("%+v, the volume has %d bytes", lacking, volume)
	}
	if diff := cmp.Diff([]string(nil), names(t, dir)); diff != "" {
		t.Error(diff)
	}
	needed := lacking.Needed

	w := begin(t, dir, s, with(needed))
	for _, e := range s.Entries {
		if e.Size == 300_000 {
			if err := w.PutBlob(t.Context(), "", e, s.open(e.Digest)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// What is there already needs no room again.
	if _, err := Create(t.Context(), dir, s.content(), with(100_000)); !errors.As(err, &lacking) {
		t.Fatalf("Create = %v", err)
	}
	if lacking.Needed >= needed-290_000 {
		t.Errorf("%d bytes are needed, with 300,000 of %d there", lacking.Needed, needed)
	}
	w = begin(t, dir, s, with(lacking.Needed))
	if n := s.put(t, w); n != len(s.Entries)-1 {
		t.Errorf("%d entries were needed", n)
	}
	if err := errors.Join(w.Finish(t.Context()), w.Close()); err != nil {
		t.Fatal(err)
	}
	s.check(t, dir)
}

func TestSpaceThatCannotBeKnown(t *testing.T) {
	s := newSample(1, 1000)
	w := begin(t, t.TempDir(), s, Options{free: func(string) (int64, error) { return 0, errors.ErrUnsupported }})
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	broken := errors.New("broken")
	if _, err := Create(t.Context(), t.TempDir(), s.content(), Options{free: func(string) (int64, error) { return 0, broken }}); !errors.Is(err, broken) {
		t.Errorf("Create = %v", err)
	}
}

// A file system that takes no files of that size is known before the first byte.
func TestLargestFile(t *testing.T) {
	s, dir := newSample(1, 100_000), t.TempDir()
	opts := Options{largest: func(string) (int64, error) { return 64 << 10, nil }}
	_, err := Create(t.Context(), dir, s.content(), opts)
	if err == nil || !strings.Contains(err.Error(), "files of at most 65536 bytes, and gantry-000001.0001.tar would have") || !strings.Contains(err.Error(), "--volume-size fat32") {
		t.Errorf("Create = %v", err)
	}
	if diff := cmp.Diff([]string(nil), names(t, dir)); diff != "" {
		t.Error(diff)
	}
	opts.VolumeSize = 64 << 10
	s.write(t, dir, opts)
	s.check(t, dir)
	if n, err := largestFile(dir); err != nil && !errors.Is(err, errors.ErrUnsupported) || err == nil && n < maxSet {
		t.Errorf("largestFile = %d, %v", n, err)
	}
}

func TestWriteErrors(t *testing.T) {
	s, dir := newSample(1, 1000), t.TempDir()
	w := begin(t, dir, s, Options{free: func(string) (int64, error) { return 1 << 30, nil }})
	defer w.Close()
	w.opts.free = func(string) (int64, error) { return 12, nil }
	var lacking *space.Error
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	if err := w.writeError(full, "x"); !errors.As(err, &lacking) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("ENOSPC is %v", err)
	}
	if diff := cmp.Diff(space.Error{Dir: dir, Needed: w.left, Available: 12, Err: full}, *lacking, cmpopts.EquateErrors()); diff != "" || w.left < 1000 {
		t.Error(diff, w.left)
	}
	if err := w.writeError(&os.PathError{Op: "write", Path: "x", Err: syscall.EFBIG}, "x"); !strings.Contains(err.Error(), "smaller volumes") {
		t.Errorf("EFBIG is %v", err)
	}
}
