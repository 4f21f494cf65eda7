package archive

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// repair writes a repair of lost content to a new folder.
func (s *line) repair(t *testing.T, i int, lost []digest.Digest) string {
	t.Helper()
	info := newest(t, s.dirs[i])
	repaired := &sample{bytes: s.samples[i].bytes}
	repaired.Name = "prod"
	for _, e := range s.samples[i].Entries {
		if slices.Contains(lost, e.Digest) {
			repaired.Entries = append(repaired.Entries, e)
		}
	}
	dir := t.TempDir()
	repaired.write(t, dir, Options{Repair: &Repair{info.SetRef, info.Plan}})
	return dir
}

// TestReadThroughRepairs checks that damaged content is read from a repair.
func TestReadThroughRepairs(t *testing.T) {
	s := months(t)
	info := newest(t, s.dirs[2])
	gone := filepath.Join(s.dirs[2], volumeName(3, len(info.Volumes)))
	fail.On(t, os.Remove(gone))
	// One more blob is altered, in a volume of the first set.
	first := newest(t, s.dirs[0])
	blob := slices.MaxFunc(s.samples[0].Entries, func(x, y ocispec.Descriptor) int { return cmp.Compare(x.Size, y.Size) })
	a := mustOpen(t, s.dirs[0])
	at := locations(a.blobs, blob.Digest)[0]
	alter(t, first.Volumes[at.volume].Path, flip((at.entry.Offset+5)*8))

	broken := mustInspect(t, s.dirs...)
	var damage *DamageError
	if err := broken.Verify(t.Context(), nil); !errors.As(err, &damage) || damage.Recoverable() || !slices.Contains(damage.Lost(), blob.Digest) {
		t.Fatalf("Verify = %v", err)
	}
	before := damage.Lost()
	third := elements.Filter(before, func(d digest.Digest) bool { return d != blob.Digest })
	dirs := append(slices.Clone(s.dirs), s.repair(t, 2, third), s.repair(t, 0, []digest.Digest{blob.Digest}))
	whole := mustOpen(t, dirs...)
	if n := s.samples[2].readable(t, whole); n != 0 {
		t.Errorf("%d are lost of %d that were", n, len(before))
	}
	if err := whole.Verify(t.Context(), nil); !errors.As(err, &damage) || !damage.Recoverable() || len(damage.Lost()) != 0 || len(damage.Damage) != 2 {
		t.Errorf("Verify = %v", err)
	}
	repairs := 0
	for _, info := range whole.Sets() {
		if info.Repair {
			repairs++
		}
	}
	fail.Diff(t, 2, repairs)
	// A repair without its set cannot be opened, and a repair of another set is skipped.
	if _, err := Open(dirs[3]); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(advice.Text(err), "bring "+setName(3)) {
		t.Errorf("Open = %v", err)
	}
	if _, err := Open(s.dirs[0], s.dirs[1], s.dirs[2], dirs[4]); !errors.As(err, &damage) || damage.Damage[0].File != filepath.Base(gone) {
		t.Errorf("Open = %v", err)
	}
}

// TestForeignRepair checks that an unsigned repair is skipped if it contains content that its set
// does not have, or gives a manifest another media type.
func TestForeignRepair(t *testing.T) {
	s := newSample(1, 9000, 700)
	dir := t.TempDir()
	s.write(t, dir, Options{})
	info := newest(t, dir)
	for name, change := range map[string]func(d *ocispec.Descriptor){
		"as it was":         func(*ocispec.Descriptor) {},
		"another type":      func(d *ocispec.Descriptor) { d.MediaType = "application/vnd.docker.distribution.manifest.v2+json" },
		"no manifest":       func(d *ocispec.Descriptor) { d.MediaType = "" },
		"something unknown": func(d *ocispec.Descriptor) { *d = s.add(ocispec.MediaTypeImageLayer, []byte("unknown")) },
	} {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(s.Entries, func(d ocispec.Descriptor) bool { return d.MediaType == ocispec.MediaTypeImageManifest })
			desc := s.Entries[i]
			change(&desc)
			repaired := &sample{bytes: s.bytes}
			repaired.Entries = []ocispec.Descriptor{desc}
			other := t.TempDir()
			repaired.write(t, other, Options{Repair: &Repair{info.SetRef, info.Plan}})
			a := mustOpen(t, dir, other)
			want := 1
			if name == "as it was" {
				want = 2
			}
			fail.Diff(t, want, len(a.Sets()))
		})
	}
}

// TestTwoCopies checks that with two copies of the same volumes, content that is damaged in one is
// read from the other.
func TestTwoCopies(t *testing.T) {
	s := newSample(1, 9000, 9000, 9000)
	dir, other := t.TempDir(), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 16 << 10, withoutCopy: true})
	fail.On(t, os.CopyFS(other, os.DirFS(dir)))
	a := mustOpen(t, dir)
	for i := range a.set.Volumes {
		e := a.set.Volumes[i].Entries[len(a.set.Volumes[i].Entries)-1]
		alter(t, filepath.Join([]string{dir, other}[i%2], volumeName(1, i+1)), flip((e.Offset+e.Size-1)*8))
	}
	both := mustOpen(t, dir, other)
	fail.Diff(t, 0, s.readable(t, both))
	var damage *DamageError
	if err := both.Verify(t.Context(), nil); !errors.As(err, &damage) || len(damage.Damage) != len(a.set.Volumes) || !damage.Recoverable() {
		t.Errorf("Verify = %v", err)
	}
}

// TestReadParts checks that content in parts is read as one stream, from any offset, and that a
// damaged part is named.
func TestReadParts(t *testing.T) {
	s, dir := newSample(1, 70_000, 700), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 16 << 10})
	a := mustOpen(t, dir)
	i := slices.IndexFunc(s.Entries, func(d ocispec.Descriptor) bool { return d.Size == 70_000 })
	desc := s.Entries[i]
	parts := locations(a.blobs, desc.Digest)
	if len(parts) < 5 {
		t.Fatalf("%d parts", len(parts))
	}
	for _, offset := range []int64{0, 1, parts[1].entry.Part.At - 1, parts[1].entry.Part.At, parts[1].entry.Part.At + 1, parts[3].entry.Part.At + 77, 69_999, 70_000} {
		if raw, err := readBlob(t, a, desc, offset); err != nil || !bytes.Equal(raw, s.bytes[desc.Digest][offset:]) {
			t.Errorf("from byte %d: %d bytes, %v", offset, len(raw), err)
		}
	}
	for _, offset := range []int64{-1, 70_001} {
		if _, err := a.Blob(t.Context(), "", desc, offset); err == nil {
			t.Errorf("from byte %d: no error", offset)
		}
	}
	fail.On(t, a.Verify(t.Context(), nil))
	p := parts[2]
	alter(t, filepath.Join(dir, a.set.Volumes[p.volume].Name), flip((p.entry.Offset+9)*8))
	_, err := readBlob(t, a, desc, 0)
	var damage *DamageError
	if !errors.As(err, &damage) || len(damage.Damage) != 1 || damage.Damage[0].Entry != p.entry.path() {
		t.Errorf("reading: %v", err)
	}
	if err := a.Verify(t.Context(), nil); !errors.As(err, &damage) || len(damage.Damage) != 1 || damage.Damage[0].Entry != p.entry.path() || !slices.Equal(damage.Lost(), []digest.Digest{desc.Digest}) {
		t.Errorf("Verify = %v", err)
	}
}
