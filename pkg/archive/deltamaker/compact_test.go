package deltamaker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/delta/deltareader"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// series returns versions of two programs, and a layer that resembles none.
func series(t *testing.T, source *memory) (changes []Change) {
	t.Helper()
	add := func(repository string, raw []byte) {
		changes = append(changes, Change{Blob: source.add(raw), Source: "src.example.com/" + repository, Repository: repository})
	}
	for version := range 4 {
		add("org/app", layer(t, map[string][]byte{"a": text(1, 200<<10, version), "b": text(2, 50<<10, 0)}))
	}
	add("org/other", layer(t, map[string][]byte{"c": text(3, 100<<10, 0)}))
	for version := range 3 {
		add("org/tool", layer(t, map[string][]byte{"c": text(4, 100<<10, version)}))
	}
	return changes
}

// rebuildAll makes the blobs of deltas in their order, from those before and the blobs that are carried whole, and returns what each is based on.
func rebuildAll(t *testing.T, source *memory, changes []Change, made *Result) map[digest.Digest][]digest.Digest {
	t.Helper()
	builder := deltareader.New(t.TempDir())
	defer func() { fail.On(t, builder.Close()) }()
	carried := map[digest.Digest]bool{}
	for _, d := range made.Deltas {
		carried[d.Digest] = true
	}
	site := map[digest.Digest][]byte{}
	for _, c := range changes {
		if !carried[c.Blob.Digest] {
			site[c.Blob.Digest] = source.content[c.Blob.Digest]
		}
	}
	bases := map[digest.Digest][]digest.Digest{}
	for _, d := range made.Deltas {
		fail.Diff(t, archive.CompactFormat, d.Format)
		var known []ocispec.Descriptor
		for _, b := range d.Bases {
			known = append(known, b.Descriptor())
			bases[d.Digest] = append(bases[d.Digest], b.Digest)
		}
		body, err := builder.Blob(t.Context(), deltareader.Delta{
			Blob: d.Descriptor(), Bases: known, Open: d.Open,
			OpenBase: func(_ context.Context, base digest.Digest, _ bool) (io.ReadCloser, error) {
				if site[base] == nil {
					return nil, fmt.Errorf("%s comes later: %w", base, os.ErrNotExist)
				}
				return io.NopCloser(bytes.NewReader(site[base])), nil
			},
		})
		fail.On(t, err)
		raw, err := io.ReadAll(body)
		fail.On(t, err)
		fail.On(t, body.Close())
		site[d.Digest] = raw
	}
	for _, c := range changes {
		if !bytes.Equal(site[c.Blob.Digest], source.content[c.Blob.Digest]) {
			t.Errorf("%s was not rebuilt", c.Blob.Digest)
		}
	}
	return bases
}

// TestCompact carries several versions in a first archive: each is based on the one before it.
func TestCompact(t *testing.T) {
	t.Parallel()
	source := newMemory()
	changes := series(t, source)
	for _, effort := range []delta.Effort{delta.Auto, delta.Max} {
		o := Options{Effort: effort, Compact: &Compact{DiskSpeed: 1}, Cache: t.TempDir()}
		clear(source.reads)
		made, err := Make(t.Context(), changes, source, o)
		fail.On(t, err)
		for d, n := range source.reads {
			if n > 1 {
				t.Errorf("%s was read %d times", d, n)
			}
		}
		bases := rebuildAll(t, source, changes, made)
		for i, c := range changes {
			var want []digest.Digest
			if i > 0 && changes[i-1].Repository == c.Repository {
				want = []digest.Digest{changes[i-1].Blob.Digest}
			}
			fail.Diff(t, want, bases[c.Blob.Digest])
		}
		var total int64
		for _, c := range changes {
			total += c.Blob.Size
		}
		if made.Rebuilt.Blobs != 5 || made.Whole[SavesLittle].Blobs != 3 || made.Carried > total/100 {
			t.Errorf("%+v of %d bytes", made, total)
		}
		clear(source.reads)
		again, err := Make(t.Context(), changes, source, o)
		fail.On(t, err)
		if again.Cached != len(again.Deltas) || len(source.reads) > 0 || len(again.Deltas) != len(made.Deltas) {
			t.Errorf("the second run: %+v with %d reads", again, len(source.reads))
		}
		for i := range again.Deltas {
			fail.Diff(t, made.Deltas[i].Delta, again.Deltas[i].Delta)
		}
		again.Close()
		made.Close()
		left, err := os.ReadDir(o.Cache)
		fail.On(t, err)
		if slices.ContainsFunc(left, func(e os.DirEntry) bool { return bytes.HasPrefix([]byte(e.Name()), []byte("gantry-")) }) {
			t.Errorf("temporary files remain: %v", left)
		}
	}
}

// TestCompactParts bases a blob that has parts of two others on both, with delta.Max.
func TestCompactParts(t *testing.T) {
	t.Parallel()
	source := newMemory()
	var changes []Change
	for _, files := range []map[string][]byte{
		{"a": text(1, 100<<10, 0)}, {"b": text(2, 100<<10, 0)},
		{"a": text(1, 100<<10, 1), "b": text(2, 100<<10, 1), "c": text(3, 100<<10, 0)},
	} {
		changes = append(changes, Change{Blob: source.add(layer(t, files)), Source: "src", Repository: "org/app"})
	}
	for effort, want := range map[delta.Effort]int{delta.Auto: 1, delta.Max: 2} {
		made, err := Make(t.Context(), changes, source, Options{Effort: effort, Compact: &Compact{DiskSpeed: 1}, Cache: t.TempDir()})
		fail.On(t, err)
		fail.Diff(t, want, len(rebuildAll(t, source, changes, made)[changes[2].Blob.Digest]))
		made.Close()
	}
}

// TestCompactPrograms has versions of two programs that have a part in common: those of the second are based on each other, too.
func TestCompactPrograms(t *testing.T) {
	t.Parallel()
	source := newMemory()
	var changes []Change
	for i := range 12 {
		files := map[string][]byte{"a": text(uint64(1+i/6), 40<<10, i%6), "b": text(9, 20<<10, 0)}
		changes = append(changes, Change{Blob: source.add(layer(t, files)), Source: "src", Repository: "org/app"})
	}
	for _, effort := range []delta.Effort{delta.Auto, delta.Max} {
		made, err := Make(t.Context(), changes, source, Options{Effort: effort, Compact: &Compact{DiskSpeed: 1}, Cache: t.TempDir()})
		fail.On(t, err)
		bases := rebuildAll(t, source, changes, made)
		made.Close()
		for i, c := range changes {
			if i%6 > 0 {
				fail.Diff(t, []digest.Digest{changes[i-1].Blob.Digest}, bases[c.Blob.Digest])
			}
		}
	}
}

// TestCompactLimits checks the depth, the dependents of a blob, and what is carried when time is up.
func TestCompactLimits(t *testing.T) {
	t.Parallel()
	source := newMemory()
	var changes []Change
	for version := range 10 {
		raw := layer(t, map[string][]byte{"a": text(1, 60<<10, version)})
		changes = append(changes, Change{Blob: source.add(raw), Source: "src", Repository: "org/app"})
	}
	run := func(o Options) (map[digest.Digest][]digest.Digest, *Result) {
		t.Helper()
		o.Cache = t.TempDir()
		made, err := Make(t.Context(), changes, source, o)
		fail.On(t, err)
		t.Cleanup(made.Close)
		return rebuildAll(t, source, changes, made), made
	}
	depth := func(bases map[digest.Digest][]digest.Digest, d digest.Digest) (n int) {
		for len(bases[d]) > 0 {
			d = bases[d][0]
			n++
		}
		return n
	}
	bases, _ := run(Options{Compact: &Compact{DiskSpeed: 1}})
	deepest, far := 0, 0
	for i, c := range changes {
		deepest = max(deepest, depth(bases, c.Blob.Digest))
		if i > 0 && !slices.Equal(bases[c.Blob.Digest], []digest.Digest{changes[i-1].Blob.Digest}) {
			far++
		}
	}
	if far != 1 { // the start of the second chain
		t.Errorf("%d blobs are not based on the one before", far)
	}
	if deepest != maxDepth && deepest != maxDepth-1 { // the first one may be carried whole
		t.Errorf("%d deltas are based on each other", deepest)
	}
	bases, _ = run(Options{Compact: &Compact{Dependents: 2, DiskSpeed: 1}})
	for _, c := range changes {
		needs := 0
		for _, other := range changes {
			for d := other.Blob.Digest; len(bases[d]) > 0; d = bases[d][0] {
				if bases[d][0] == c.Blob.Digest {
					needs++
				}
			}
		}
		if needs > 2 {
			t.Errorf("%d blobs need one", needs)
		}
	}
	late := &compactor{maker: &maker{Options: Options{Compact: &Compact{DiskSpeed: 1e6}}}, busy: freeTime + 3*time.Second, saved: 2e6}
	fail.Diff(t, true, late.late())
	late.saved = 4e6
	fail.Diff(t, false, late.late())
	fail.Diff(t, true, late.lateWith(2*time.Second, 0))
	fail.Diff(t, false, late.lateWith(2*time.Second, 1e6))
	late.largest = 12e6 // writing it takes 2 s longer than freeTime
	fail.Diff(t, false, late.lateWith(2*time.Second, 0))
	fail.Diff(t, true, late.lateWith(4*time.Second, 0))
	late.largest, late.ahead = 0, freeTime+5*time.Second
	fail.Diff(t, true, late.late())
	late.saved, late.Effort = 0, delta.Max
	fail.Diff(t, false, late.late())
	c := &compactor{maker: &maker{Options: Options{Compact: &Compact{}}}, busy: time.Hour}
	if err := c.prepare(t.Context(), &changes[0]).err; !errors.Is(err, errLate) {
		t.Errorf("when time is up: %v", err)
	}
}

// TestCompactSite bases a new blob on one of the site if no blob of the archive covers most of it.
func TestCompactSite(t *testing.T) {
	t.Parallel()
	source := newMemory()
	old := source.add(layer(t, map[string][]byte{"a": text(1, 200<<10, 0)}))
	changes := []Change{
		{Blob: source.add(layer(t, map[string][]byte{"a": text(1, 200<<10, 1)})), Source: "src", Repository: "org/app", Candidates: []Candidate{candidate(old)}},
		{Blob: source.add(layer(t, map[string][]byte{"a": text(1, 200<<10, 2)})), Source: "src", Repository: "org/app", Candidates: []Candidate{candidate(old)}},
	}
	made, err := Make(t.Context(), changes, source, Options{Compact: &Compact{DiskSpeed: 1}, Cache: t.TempDir()})
	fail.On(t, err)
	defer made.Close()
	var bases []digest.Digest
	for _, d := range made.Deltas {
		bases = append(bases, elements.Map(d.Bases, func(b archive.DeltaBase) digest.Digest { return b.Digest })...)
	}
	fail.Diff(t, []digest.Digest{old.Digest, changes[0].Blob.Digest}, bases)
}

// TestSketch estimates what contents have in common.
func TestSketch(t *testing.T) {
	t.Parallel()
	one, two := text(1, 4<<20, 0), text(2, 4<<20, 0)
	of := func(parts ...[]byte) *sketch {
		all := bytes.Join(parts, nil)
		s, err := newSketch(t.Context(), bytes.NewReader(all), int64(len(all)))
		fail.On(t, err)
		return s
	}
	a, both, b := of(one), of(one, two), of(two)
	for name, tc := range map[string]struct{ got, least, most float64 }{
		"all of it":    {a.covered(both), 0.97, 1},
		"half of it":   {both.covered(a), 0.4, 0.6},
		"nothing":      {a.covered(b), 0, 0.01},
		"itself":       {a.covered(a), 1, 1},
		"of nothing":   {of(nil).covered(a), 0, 0},
		"small in big": {of(one[:100<<10]).covered(both), 0.9, 1},
	} {
		if tc.got < tc.least || tc.got > tc.most {
			t.Errorf("%s: %f", name, tc.got)
		}
	}
	m := &maker{Options: Options{Cache: t.TempDir()}}
	d := digest.FromString("x")
	fail.On(t, m.keepSketch(d, both))
	fail.Diff(t, true, slices.Equal(both.hashes, m.sketchOf(d).hashes))
	fail.On(t, os.WriteFile(m.sketchPath(d), []byte("short"), 0o644))
	if m.sketchOf(d) != nil {
		t.Error("a damaged sketch is used")
	}
}
