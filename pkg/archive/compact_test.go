package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// A compactSample is a series of layers: the first is whole, and each other one a delta of the one before. One layer
// more is a delta of two of them, and one of nothing.
type compactSample struct {
	*sample
	layers   []ocispec.Descriptor
	of, none ocispec.Descriptor
}

func newCompact(t testing.TB, deltas int) *compactSample {
	t.Helper()
	s := &compactSample{sample: newSample(3, 500, 40_000)}
	s.Name = "prod"
	s.layers = []ocispec.Descriptor{s.Entries[slices.IndexFunc(s.Entries, func(e ocispec.Descriptor) bool { return e.Size == 40_000 })]}
	raw := s.bytes[s.layers[0].Digest]
	for i := range deltas {
		raw = bytes.Clone(raw)
		copy(raw[2000*i:], fmt.Sprintf("version %d", i))
		s.layers = append(s.layers, s.carry(t, raw, s.layers[i]))
	}
	s.of = s.carry(t, append(bytes.Clone(raw[:20_000]), s.bytes[s.layers[0].Digest]...), s.layers[0], s.layers[1])
	s.none = s.carry(t, append(bytes.Repeat([]byte("compressed better\n"), 4000), newSample(4, 30_000).bytes[newSample(4, 30_000).Entries[1].Digest]...))
	return s
}

// carry adds a blob as a delta.
func (s *compactSample) carry(t testing.TB, raw []byte, on ...ocispec.Descriptor) ocispec.Descriptor {
	t.Helper()
	blob := s.add("application/vnd.oci.image.layer.v1.tar", raw)
	bases := elements.Map(on, func(b ocispec.Descriptor) based { return based{b, s.bytes[b.Digest]} })
	c := carried(t, blob, raw, bases...)
	c.Format = CompactFormat
	s.Deltas = append(s.Deltas, c)
	return blob
}

// TestCompact writes and reads archives with deltas of their own blobs, and of nothing.
func TestCompact(t *testing.T) {
	t.Parallel()
	ann, ops := person(t), newScribe(t, "ops@example.com")
	for name, opts := range map[string]Options{
		"plain":      {},
		"volumes":    {VolumeSize: 24 << 10},
		"parts":      {VolumeSize: 20 << 10},
		"everything": {VolumeSize: 64 << 10, OCMirrorNames: true, Sign: ops.sign, Encrypt: to(ann)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newCompact(t, maxDepth), t.TempDir()
			s.write(t, dir, opts)
			w := begin(t, dir, s.sample, opts)
			if !w.Complete() || !w.Has(s.none) {
				t.Error("it is written again")
			}
			fail.On(t, w.Close())
			if opts.Encrypt == nil {
				s.check(t, dir)
				fail.Diff(t, folder(t, dir), reference(t, s.sample, opts))
			}
			read := OpenOptions{Identities: []age.Identity{ann}}
			if opts.Sign != nil {
				read.Signatures = ops.policy
			}
			from := []string{dir, onlyVolumes(t, dir)}
			if name == "parts" { // the volumes are too small for the set manifest
				from = from[:1]
			}
			for _, from := range from {
				a, err := OpenWith(read, from)
				fail.On(t, err)
				s.readBack(t, a)
				fail.On(t, a.Verify(t.Context(), nil))
				info := a.Selected()
				if info.Deltas != len(s.Deltas) || !slices.Contains(info.Features, featureCompact) || len(a.MissingBases(s.layers[3])) > 0 {
					t.Errorf("%+v", info)
				}
				fail.On(t, a.Close())
			}
		})
	}
}

// TestCompactOrder checks that delta files come after all other content, in the order in which they were given.
func TestCompactOrder(t *testing.T) {
	t.Parallel()
	s, dir := newCompact(t, 3), t.TempDir()
	slices.Reverse(s.Deltas[:2])
	s.write(t, dir, Options{withoutCopy: true})
	var want []string
	for i := range s.Deltas {
		want = append(want, layout.BlobPath(s.Deltas[i].File))
	}
	files := paths(stored(t, dir, setID{sequence: 1}))
	fail.Diff(t, want, files[len(files)-len(want):])
}

// TestCompactInterrupted continues an archive, and takes what it has from one with other content.
func TestCompactInterrupted(t *testing.T) {
	t.Parallel()
	s, dir := newCompact(t, 3), t.TempDir()
	want := reference(t, s.sample, small)
	w := begin(t, dir, s.sample, small)
	for _, e := range s.Entries[:7] {
		fail.On(t, w.PutBlob(t.Context(), "", e, s.open(e.Digest)))
	}
	s.continued(t, crash(t, dir), small, len(s.Entries)-7, want)
	fail.On(t, w.Close())
	less := *s.sample
	less.Entries, less.Deltas = s.Entries[:7], s.Deltas[:1]
	less.write(t, dir, small)
	opened := 0
	for i := range s.Deltas {
		open := s.Deltas[i].Open
		s.Deltas[i].Open = func(ctx context.Context) (io.ReadCloser, error) { opened++; return open(ctx) }
	}
	s.write(t, dir, Options{VolumeSize: small.VolumeSize, Replace: true})
	fail.Diff(t, len(s.Deltas)-1, opened)
	s.check(t, dir)
}

// TestCompactExtracted checks what someone sees who extracts the volumes.
func TestCompactExtracted(t *testing.T) {
	t.Parallel()
	s, dir := newCompact(t, 2), t.TempDir()
	s.write(t, dir, Options{withoutCopy: true})
	to := extract(t, dir)
	sums := string(contentOf(t, filepath.Join(to, sumsPath)))
	for i := range s.Deltas {
		if path := layout.BlobPath(s.Deltas[i].Digest); !strings.Contains(sums, path) {
			t.Errorf("%s is not listed", path)
		} else if _, err := os.Stat(filepath.Join(to, path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	text := string(contentOf(t, filepath.Join(to, deltasPath)))
	if !strings.Contains(text, "gantry archive extract file://DISK --to FOLDER") || strings.Contains(text, "earlier") {
		t.Error(text)
	}
	fail.On(t, os.Remove(filepath.Join(dir, setName(1))))
	_, err := Open(dir)
	says(t, err, "carries deltas, and which ones is only in gantry-000001.json")
}

// TestCompactConcurrently reads a chain of deltas with several readers at once.
func TestCompactConcurrently(t *testing.T) {
	s, dir := newCompact(t, maxDepth), t.TempDir()
	s.write(t, dir, Options{})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, processors := range []int{1, 2} {
		runtime.GOMAXPROCS(processors)
		a := mustOpen(t, dir)
		var g errgroup.Group
		for range 8 {
			blobs := slices.Concat(s.layers, []ocispec.Descriptor{s.of, s.none})
			rand.Shuffle(len(blobs), func(i, j int) { blobs[i], blobs[j] = blobs[j], blobs[i] })
			g.Go(func() error {
				for _, b := range blobs {
					raw, err := readBlob(t, a, b, 0)
					if err != nil || !bytes.Equal(raw, s.bytes[b.Digest]) {
						return fmt.Errorf("%s: %d bytes, %w", b.Digest, len(raw), err)
					}
				}
				return nil
			})
		}
		fail.On(t, g.Wait())
		fail.Diff(t, 0, len(a.DeltaFailures()))
	}
}

// TestCompactDamage damages what others are based on: all of them are named, and a repair with the damaged blob, or the
// mirror, is enough for all.
func TestCompactDamage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file  func(s *compactSample) digest.Digest
		layer int
	}{
		"whole": {func(s *compactSample) digest.Digest { return s.layers[0].Digest }, 0},
		"delta": {func(s *compactSample) digest.Digest { return s.Deltas[1].File }, 2},
	} {
		for _, missing := range []bool{false, true} {
			t.Run(fmt.Sprint(name, missing), func(t *testing.T) {
				t.Parallel()
				s, dir := newCompact(t, 4), t.TempDir()
				s.write(t, dir, Options{VolumeSize: 40_000 + 5*blockSize + 2048})
				l := &line{samples: []*sample{s.sample}, dirs: []string{dir}}
				a := mustOpen(t, dir)
				at := locations(a.blobs, tc.file(s))[0]
				volume := filepath.Join(dir, volumeName(1, int(at.volume)+1))
				lost := s.layers[tc.layer]
				if missing = missing && name == "whole"; missing {
					fail.On(t, os.Remove(volume))
				} else {
					alter(t, volume, flip((at.entry.Offset+at.entry.Size/2)*8))
				}
				a = mustInspect(t, dir)
				var damage *DamageError
				if err := a.Verify(t.Context(), nil); !errors.As(err, &damage) || !slices.Equal(damage.Lost(), []digest.Digest{lost.Digest}) {
					t.Fatalf("Verify = %v", err)
				}
				dependents := elements.Map(s.layers[tc.layer+1:], func(b ocispec.Descriptor) digest.Digest { return b.Digest })
				if tc.layer < 2 {
					dependents = append(dependents, s.of.Digest)
				}
				slices.Sort(dependents)
				fail.Diff(t, dependents, damage.Damage[0].Dependents)
				for _, e := range s.Entries {
					_, err := readBlob(t, a, e, 0)
					if broken := e.Digest == lost.Digest || slices.Contains(dependents, e.Digest); broken != (err != nil) {
						t.Errorf("%s: %v", e.Digest, err)
					} else if broken && e.Digest != lost.Digest {
						says(t, err, "request a repair, which has "+lost.Digest.String())
					}
				}
				if f := a.DeltaFailures(); len(f) != 1 || f[0].Blob != lost.Digest || f[0].Size != lost.Size || f[0].MissingBase {
					t.Errorf("DeltaFailures = %v", f)
				}
				a.UseBases(func(_ context.Context, base DeltaBase) (io.ReadCloser, error) {
					if base.Digest != lost.Digest {
						return nil, fs.ErrNotExist
					}
					return s.open(base.Digest)(t.Context(), 0)
				})
				if raw, err := readBlob(t, a, s.layers[4], 0); err != nil || !bytes.Equal(raw, s.bytes[s.layers[4].Digest]) {
					t.Errorf("with the base of the site: %v", err)
				}
				s.readBack(t, mustOpen(t, dir, l.repair(t, 0, []digest.Digest{lost.Digest})))
			})
		}
	}
}

// TestCompactParity rebuilds a volume with the base of others.
func TestCompactParity(t *testing.T) {
	t.Parallel()
	s, dir := newCompact(t, 3), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 48 << 10, Redundancy: 30})
	fail.On(t, os.Remove(filepath.Join(dir, volumeName(1, 1))))
	done, err := rebuildIn(t, RebuildOptions{}, dir)
	fail.On(t, err)
	fail.Diff(t, 1, len(done))
	s.check(t, dir)
}

// TestCompactSeries writes an archive that builds on a compact one: its deltas are based on a blob that the one before
// carries as a delta, and on its own.
func TestCompactSeries(t *testing.T) {
	t.Parallel()
	first := newCompact(t, 2)
	l := &line{}
	l.next(t, first.sample, 0)
	second := &compactSample{sample: newSample(5, 500)}
	second.Name = "prod"
	maps.Copy(second.bytes, first.bytes)
	raw := bytes.Clone(first.bytes[first.layers[2].Digest])
	copy(raw[9000:], "the next month")
	one := second.carry(t, raw, first.layers[2])
	raw = bytes.Clone(raw)
	copy(raw[12_000:], "the next month")
	two := second.carry(t, raw, one, first.layers[0])
	dir := filepath.Join(t.TempDir(), "disk")
	base := &Base{Sets: l.sets, Has: func(digest.Digest) bool { return false }, HasBlob: func(d digest.Digest) bool { return first.bytes[d] != nil }}
	second.write(t, dir, Options{Base: base})
	both := mustOpen(t, l.dirs[0], dir)
	for _, b := range []ocispec.Descriptor{two, one} {
		if raw, err := readBlob(t, both, b, 0); err != nil || !bytes.Equal(raw, second.bytes[b.Digest]) || len(both.MissingBases(b)) > 0 {
			t.Errorf("%s: %v", b.Digest, err)
		}
	}
	alone := mustOpen(t, dir)
	fail.Diff(t, 2, len(alone.MissingBases(two)))
	var failed *DeltaError
	if _, err := readBlob(t, alone, two, 0); !errors.As(err, &failed) || !failed.MissingBase {
		t.Errorf("alone: %v", err)
	}
	if f := alone.DeltaFailures(); len(f) != 1 || f[0].Blob != one.Digest || !f[0].MissingBase {
		t.Errorf("DeltaFailures = %v", f)
	}
	var asked []digest.Digest
	alone.UseBases(func(_ context.Context, base DeltaBase) (io.ReadCloser, error) {
		asked = append(asked, base.Digest)
		return first.open(base.Digest)(t.Context(), 0)
	})
	if raw, err := readBlob(t, alone, two, 0); err != nil || !bytes.Equal(raw, second.bytes[two.Digest]) {
		t.Errorf("with the mirror: %v", err)
	}
	fail.Diff(t, []digest.Digest{first.layers[2].Digest, first.layers[0].Digest}, asked)
	// The set before carries the same blob again, as a delta of a later one: the reader does not go around in circles.
	at := both.deltas[two.Digest]
	again := both.deltas[first.layers[2].Digest]
	again.Bases = []DeltaBase{{two.Digest, two.Size, "team/app"}}
	if _, ok := both.baseDelta(again, again.Bases[0]); ok || at.set.Sequence != 2 {
		t.Error("a delta of a later set is used")
	}
}
