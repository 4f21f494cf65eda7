package deltamaker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// memory is a source with blobs and manifests in memory. It counts what is read.
type memory struct {
	content map[digest.Digest][]byte
	mu      *sync.Mutex // guards reads
	reads   map[digest.Digest]int
}

func newMemory() *memory {
	return &memory{map[digest.Digest][]byte{}, &sync.Mutex{}, map[digest.Digest]int{}}
}

func (m *memory) add(raw []byte) ocispec.Descriptor {
	d := digest.FromBytes(raw)
	m.content[d] = raw
	return ocispec.Descriptor{Digest: d, Size: int64(len(raw))}
}

// Manifest implements image.Reader.
func (m *memory) Manifest(_ context.Context, _ string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	raw, ok := m.content[d]
	if !ok {
		return ocispec.Descriptor{}, nil, fs.ErrNotExist
	}
	return ocispec.Descriptor{MediaType: mediaTypeOf(raw), Digest: d, Size: int64(len(raw))}, raw, nil
}

func mediaTypeOf(raw []byte) string {
	if bytes.Contains(raw, []byte(`"manifests"`)) {
		return ocispec.MediaTypeImageIndex
	}
	return ocispec.MediaTypeImageManifest
}

// Blob implements image.Reader.
func (m *memory) Blob(ctx context.Context, _ string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	raw, ok := m.content[desc.Digest]
	if !ok {
		return nil, fs.ErrNotExist
	}
	m.mu.Lock()
	m.reads[desc.Digest]++
	m.mu.Unlock()
	return layout.Rest(ctx, io.NopCloser(bytes.NewReader(raw[offset:])), desc, offset, "memory")
}

// text returns words that do not compress well. Some of them depend on the month.
func text(seed uint64, size, month int) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%x\n", r.Uint64())
		if i%300 == 7 {
			fmt.Fprintf(&b, "month %d\n", month)
		}
	}
	return b.Bytes()
}

// layer returns a layer with files, compressed by gzip.
func layer(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(tarOf(t, files))
	fail.On(t, errors.Join(err, z.Close()))
	return b.Bytes()
}

// tarOf returns a layer that is not compressed.
func tarOf(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"a", "b", "c", "d"} {
		if raw, ok := files[name]; ok {
			fail.On(t, w.WriteHeader(&tar.Header{Name: "dir/" + name, Mode: 0o644, Size: int64(len(raw))}))
			_, err := w.Write(raw)
			fail.On(t, err)
		}
	}
	fail.On(t, w.Close())
	return b.Bytes()
}

func candidate(desc ocispec.Descriptor) Candidate {
	return Candidate{archive.DeltaBase{Digest: desc.Digest, Size: desc.Size, Repository: "org/app"}, "src.example.com/org/app"}
}

// TestMake makes deltas, and checks why there is none for other blobs.
func TestMake(t *testing.T) {
	t.Parallel()
	source := newMemory()
	old := source.add(layer(t, map[string][]byte{"a": text(1, 300<<10, 1), "b": text(2, 50<<10, 0)}))
	now := source.add(layer(t, map[string][]byte{"a": text(1, 300<<10, 2), "b": text(2, 50<<10, 0)}))
	other := source.add(layer(t, map[string][]byte{"c": text(3, 200<<10, 0)}))
	strange := append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3}, "not compressed at all"...)
	broken := source.add(append(strange, make([]byte, 20<<10)...))
	gone := ocispec.Descriptor{Digest: digest.FromString("gone"), Size: 100_000}
	for name, tc := range map[string]struct {
		blob       ocispec.Descriptor
		candidates []ocispec.Descriptor
		change     func(o *Options)
		want       Reason // "" for a delta
	}{
		"a delta":                    {now, []ocispec.Descriptor{old}, nil, ""},
		"the second has it":          {now, []ocispec.Descriptor{gone, old}, nil, ""},
		"with most effort":           {now, []ocispec.Descriptor{other, old}, func(o *Options) { o.Effort = delta.Max }, ""},
		"nothing similar":            {other, []ocispec.Descriptor{old}, nil, SavesLittle},
		"bases that are gone":        {now, []ocispec.Descriptor{gone}, nil, NoBase},
		"no candidates":              {now, nil, nil, NoBase},
		"it cannot be read":          {gone, []ocispec.Descriptor{old}, nil, Unreadable},
		"it is no compressed stream": {broken, []ocispec.Descriptor{old}, nil, NotReproducible},
		"the site cannot compress":   {now, []ocispec.Descriptor{old}, func(o *Options) { o.Compressors = []string{"pgzip:6/00"} }, NotReproducible},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			local := &memory{source.content, &sync.Mutex{}, map[digest.Digest]int{}}
			o := Options{Cache: t.TempDir(), Time: time.Hour}
			if tc.change != nil {
				tc.change(&o)
			}
			c := Change{Blob: tc.blob, Source: "src"}
			c.Candidates = append(c.Candidates, elements.Map(tc.candidates, candidate)...)
			made, err := Make(t.Context(), []Change{c}, local, o)
			fail.On(t, err)
			defer made.Close()
			if tc.want != "" {
				if made.Whole[tc.want] != (Amount{1, tc.blob.Size}) || len(made.Deltas) > 0 {
					t.Errorf("%+v", made)
				}
				return
			}
			if len(made.Deltas) != 1 || made.Carried*5 > tc.blob.Size || made.Rebuilt != (Amount{1, tc.blob.Size}) || len(made.Requires) != 1 {
				t.Fatalf("%+v", made)
			}
			d := made.Deltas[0]
			raw := readAll(t, &d)
			if digest.FromBytes(raw) != d.File || int64(len(raw)) != d.FileSize || d.Bases[len(d.Bases)-1].Digest != old.Digest || d.Bases[0].Repository != "org/app" {
				t.Errorf("%+v", d)
			}
			left, err := filepath.Glob(filepath.Join(o.Cache, "gantry-delta-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("temporary files remain: %v, %v", left, err)
			}
		})
	}
}

func readAll(t *testing.T, d *archive.CarriedDelta) []byte {
	t.Helper()
	f, err := d.Open(t.Context())
	fail.On(t, err)
	defer f.Close()
	raw, err := io.ReadAll(f)
	fail.On(t, err)
	return raw
}

// TestCache checks that a delta, and the reason for none, is found again without reading anything, that a damaged
// one is made again, and that what is not used is removed.
func TestCache(t *testing.T) {
	t.Parallel()
	source := newMemory()
	old := source.add(layer(t, map[string][]byte{"a": text(1, 100<<10, 1)}))
	now := source.add(layer(t, map[string][]byte{"a": text(1, 100<<10, 2)}))
	other := source.add(layer(t, map[string][]byte{"a": text(9, 100<<10, 2)}))
	o := Options{Cache: t.TempDir(), Time: time.Hour}
	changes := []Change{{Blob: now, Source: "src", Candidates: []Candidate{candidate(old)}}, {Blob: other, Source: "src", Candidates: []Candidate{candidate(old)}}}
	run := func() *Result {
		t.Helper()
		clear(source.reads)
		made, err := Make(t.Context(), changes, source, o)
		fail.On(t, err)
		if len(made.Deltas) != 1 || made.Whole[SavesLittle].Blobs != 1 {
			t.Fatalf("%+v", made)
		}
		made.Close()
		return made
	}
	first := readAll(t, &run().Deltas[0])
	again := run()
	if len(source.reads) > 0 || again.Cached != 1 || !bytes.Equal(readAll(t, &again.Deltas[0]), first) {
		t.Errorf("again: %v was read, %d in the cache", source.reads, again.Cached)
	}
	files, err := filepath.Glob(filepath.Join(o.Cache, "*.delta"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	fail.On(t, os.WriteFile(files[0], append([]byte("x"), first[1:]...), 0o600))
	if healed := run(); healed.Cached != 0 || !bytes.Equal(readAll(t, &healed.Deltas[0]), first) {
		t.Error("a damaged delta was used")
	}
	if err := Expire(o.Cache, time.Now().Add(-time.Hour)); err != nil || run().Cached != 1 {
		t.Errorf("what was used was removed: %v", err)
	}
	if err := Expire(o.Cache, time.Now().Add(time.Hour)); err != nil || run().Cached != 0 {
		t.Errorf("it was not removed: %v", err)
	}
}

// TestKept checks that a blob without a delta is not downloaded again.
func TestKept(t *testing.T) {
	t.Parallel()
	source := newMemory()
	old := source.add(layer(t, map[string][]byte{"a": text(1, 100<<10, 1)}))
	other := source.add(layer(t, map[string][]byte{"b": text(9, 100<<10, 2)}))
	made, err := Make(t.Context(), []Change{{Blob: other, Source: "src", Candidates: []Candidate{candidate(old)}}}, source, Options{Cache: t.TempDir(), Time: time.Hour})
	fail.On(t, err)
	defer made.Close()
	kept := made.Source(source)
	for _, offset := range []int64{0, 1000, other.Size} {
		body, err := kept.Blob(t.Context(), "src", other, offset)
		fail.On(t, err)
		raw, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil || !bytes.Equal(raw, source.content[other.Digest][offset:]) {
			t.Errorf("from %d: %d bytes, %v", offset, len(raw), err)
		}
	}
	fail.Diff(t, 1, source.reads[other.Digest])
	if body, err := kept.Blob(t.Context(), "src", old, 0); err != nil || body.Close() != nil {
		t.Errorf("others are not read from the source: %v", err)
	}
}

// TestTime checks that a delta is given up that costs too much for what it saves, and not with Max.
func TestTime(t *testing.T) {
	t.Parallel()
	w := &work{maker: &maker{Options: Options{Time: time.Second}}, change: &Change{Blob: ocispec.Descriptor{Size: 10e6}}}
	for _, tc := range []struct {
		spent time.Duration
		size  int64
		want  bool
	}{{time.Second, 0, true}, {9 * time.Second, 1e6, true}, {9100 * time.Millisecond, 1e6, false}, {90 * time.Millisecond, 10e6, true}, {200 * time.Millisecond, 10e6, false}} {
		fail.Diff(t, tc.want, w.budget(tc.spent, 1, tc.size))
	}
	if w.Effort = delta.Max; !w.budget(time.Hour, 1, 10e6) {
		t.Error("Max is limited")
	}
}

// TestInterrupted checks that Make ends with the context and leaves nothing.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	source := newMemory()
	old := source.add(layer(t, map[string][]byte{"a": text(1, 100<<10, 1)}))
	now := source.add(layer(t, map[string][]byte{"a": text(1, 100<<10, 2)}))
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	o := Options{Cache: t.TempDir(), Progress: func(int64, int64) { cancel(stopped) }}
	changes := []Change{{Blob: now, Source: "src", Candidates: []Candidate{candidate(old)}}}
	for range 50 {
		changes = append(changes, Change{Blob: old, Source: "src", Candidates: []Candidate{candidate(now)}})
	}
	if _, err := Make(ctx, changes, source, o); !errors.Is(err, stopped) {
		t.Errorf("Make = %v", err)
	}
	left, err := filepath.Glob(filepath.Join(o.Cache, "gantry-*"))
	if err != nil || strings.Join(left, "") != "" {
		t.Errorf("%v, %v", left, err)
	}
}
