package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// failing is a file with some unreadable bytes.
type failing struct {
	readAtCloser
	from, to int64
	err      error
}

func (f *failing) ReadAt(p []byte, at int64) (int, error) {
	if at >= f.to || at+int64(len(p)) <= f.from {
		return f.readAtCloser.ReadAt(p, at)
	}
	n := 0
	if at < f.from {
		n, _ = f.readAtCloser.ReadAt(p[:f.from-at], at)
	}
	return n, &fs.PathError{Op: "read", Path: "/media/disk/" + volumeName(1, 2), Err: f.err}
}

// TestUnreadablePlace checks that an unreadable place on a disk loses only the content at that
// place.
func TestUnreadablePlace(t *testing.T) {
	s, dir := newSample(1, 9000, 9000, 9000, 700), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 32 << 10, withoutCopy: true})
	for name, at := range map[string]func(v *volume) (int64, int64, []digest.Digest){
		"in an entry": func(v *volume) (int64, int64, []digest.Digest) {
			e := v.Entries[len(v.Entries)-1]
			return e.Offset + e.Size/2, e.Offset + e.Size/2 + 1, []digest.Digest{e.Digest}
		},
		"the first byte of an entry": func(v *volume) (int64, int64, []digest.Digest) {
			e := v.Entries[len(v.Entries)-1]
			return e.Offset, e.Offset + 1, []digest.Digest{e.Digest}
		},
		"in a header": func(v *volume) (int64, int64, []digest.Digest) {
			e := v.Entries[len(v.Entries)-1]
			return e.Offset - 100, e.Offset - 90, nil
		},
		"two entries": func(v *volume) (int64, int64, []digest.Digest) {
			n := len(v.Entries)
			lost := []digest.Digest{v.Entries[n-2].Digest, v.Entries[n-1].Digest}
			slices.Sort(lost)
			return v.Entries[n-2].Offset + 5, v.Entries[n-1].Offset + 5, lost
		},
		"the end of the volume": func(v *volume) (int64, int64, []digest.Digest) {
			return v.Size - 10, v.Size, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := mustOpen(t, dir)
			v := &a.set.Volumes[1]
			from, to, lost := at(v)
			f := &a.members[0].volumes[1].files[0]
			f.readAtCloser = &failing{f.readAtCloser, from, to, syscall.EIO}
			var read int64
			var damage *DamageError
			if err := a.Verify(t.Context(), func(n int64) { read += n }); !errors.As(err, &damage) {
				t.Fatalf("Verify = %v", err)
			}
			if !slices.Equal(damage.Lost(), lost) {
				t.Errorf("lost are %v, not %v: %v", damage.Lost(), lost, damage)
			}
			for _, d := range damage.Damage {
				if d.File != v.Name || !strings.Contains(d.Problem, "unreadable from offset ") || !strings.Contains(d.Problem, "input/output error") {
					t.Errorf("%v", d)
				}
			}
			fail.Diff(t, a.Size(), read)
		})
	}
}

// TestMediumRemoved checks that a disk that is removed while it is read is reported once, not for
// each of its entries, and that the content of other disks is still compared.
func TestMediumRemoved(t *testing.T) {
	s, dir := newSample(1, slices.Repeat([]int{3000}, 60)...), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 128 << 10})
	for name, gone := range map[string]error{"input/output error": syscall.EIO, "no such device": syscall.ENODEV} {
		t.Run(name, func(t *testing.T) {
			a := mustOpen(t, dir)
			if len(a.set.Volumes) < 2 {
				t.Fatal("there is one volume only")
			}
			v := &a.set.Volumes[0]
			middle := v.Entries[len(v.Entries)/2]
			f := &a.members[0].volumes[0].files[0]
			f.readAtCloser = &failing{f.readAtCloser, middle.Offset, v.Size, gone}
			var damage *DamageError
			if err := a.Verify(t.Context(), nil); !errors.As(err, &damage) {
				t.Fatalf("Verify = %v", err)
			}
			last := damage.Damage[len(damage.Damage)-1]
			if len(damage.Damage) > maxFailures || !strings.Contains(last.Problem, "is the disk still connected?") || !strings.Contains(last.Problem, name) {
				t.Errorf("%d damages, the last is %v", len(damage.Damage), last)
			}
			for i := range v.Entries {
				e := &v.Entries[i]
				if e.Path == "" && slices.Contains(damage.Lost(), e.Digest) != (e.Offset >= middle.Offset) {
					t.Errorf("%s at %d is said lost: %v", e.path(), e.Offset, e.Offset < middle.Offset)
				}
			}
			// Reading returns the same error, with the name of the volume.
			for _, desc := range s.Entries {
				if desc.Digest != middle.Digest {
					continue
				}
				if _, err := readBlob(t, a, desc, 0); !errors.As(err, &damage) || damage.Damage[0].File != v.Name || !strings.Contains(err.Error(), name) {
					t.Errorf("reading %s: %v", desc.Digest, err)
				}
			}
		})
	}
}

// TestReadOnlyMedium checks that an archive on a read-only disk can be read.
func TestReadOnlyMedium(t *testing.T) {
	s, dir := newSample(1, 9000, 700), t.TempDir()
	s.write(t, dir, Options{})
	for name := range folder(t, dir) {
		fail.On(t, os.Chmod(filepath.Join(dir, name), 0o444))
	}
	fail.On(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	s.check(t, dir)
}

// TestVerifyIsCancelled checks that Verify returns soon after its context is canceled, and leaves
// no goroutine that reads.
func TestVerifyIsCancelled(t *testing.T) {
	s, dir := newSample(1, 3<<20, 3<<20), t.TempDir()
	s.write(t, dir, Options{})
	a := mustOpen(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	var read int64
	err := a.Verify(ctx, func(n int64) { read += n; cancel() })
	if !errors.Is(err, context.Canceled) || read > a.Size()-(1<<20) {
		t.Errorf("Verify = %v after %d of %d bytes", err, read, a.Size())
	}
}

// TestVerifySeveralMediaAtOnce checks that volumes on several disks are read in parallel, and that
// damage is still reported in the order of the volumes.
func TestVerifySeveralMediaAtOnce(t *testing.T) {
	s, dir := newSample(1, slices.Repeat([]int{9000}, 12)...), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 16 << 10})
	a := mustOpen(t, dir)
	var want []string
	for i := range a.set.Volumes {
		v := &a.set.Volumes[i]
		a.members[0].volumes[i].files[0].device = uint64(i) // as if each volume were on its own disk
		e := v.Entries[len(v.Entries)-1]
		alter(t, filepath.Join(dir, v.Name), flip(e.Offset*8))
		want = append(want, v.Name)
	}
	var read int64
	var damage *DamageError
	if err := a.Verify(t.Context(), func(n int64) { read += n }); !errors.As(err, &damage) {
		t.Fatalf("Verify = %v", err)
	}
	got := elements.Map(damage.Damage, func(d Damage) string { return d.File })
	if len(want) < 4 || !slices.Equal(got, want) {
		t.Errorf("damaged are %v, not %v", got, want)
	}
	fail.Diff(t, a.Size(), read)
}
