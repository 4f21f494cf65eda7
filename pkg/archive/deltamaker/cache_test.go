package deltamaker

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestCacheOfSites checks that a delta in the cache is not used for a site that does not have its bases: a layer that
// shares files is no candidate, so it is not part of the key.
func TestCacheOfSites(t *testing.T) {
	t.Parallel()
	source := newMemory()
	base := source.add(layer(t, map[string][]byte{"a": text(1, 100<<10, 1), "b": text(2, 100<<10, 1)}))
	other := source.add(layer(t, map[string][]byte{"c": text(3, 100<<10, 1)}))
	now := source.add(layer(t, map[string][]byte{"a": text(1, 100<<10, 2), "b": text(2, 100<<10, 2)}))
	o := Options{Cache: t.TempDir(), Time: time.Hour}
	run := func(c Change, site func(digest.Digest) (Candidate, bool)) *Result {
		t.Helper()
		o := o
		o.Lookup = site
		c.Source = "src"
		made, err := Make(t.Context(), []Change{c}, source, o)
		fail.On(t, err)
		made.Close()
		return made
	}
	none := func(digest.Digest) (Candidate, bool) { return Candidate{}, false }
	run(Change{Blob: base, Candidates: []Candidate{candidate(other)}}, none) // remembers its files
	for i := range 2 {
		made := run(Change{Blob: now}, func(d digest.Digest) (Candidate, bool) {
			c := candidate(base)
			if i == 1 {
				c.Repository = "org/moved"
			}
			return c, d == base.Digest
		})
		if len(made.Deltas) != 1 || made.Cached != i || (made.Deltas[0].Bases[0].Repository == "org/moved") != (i == 1) {
			t.Fatalf("run %d: %+v", i, made)
		}
	}
	if made := run(Change{Blob: now}, none); len(made.Deltas) > 0 || made.Whole[NoBase].Blobs != 1 {
		t.Errorf("for a site without the base: %+v", made)
	}
}

// TestReasonAgain checks when it is found out again that a delta saves little: if another layer shares files, if one
// could not be read, and with another effort.
func TestReasonAgain(t *testing.T) {
	t.Parallel()
	source := newMemory()
	base := source.add(layer(t, map[string][]byte{"a": text(1, 100<<10, 1), "b": text(2, 100<<10, 1)}))
	other := source.add(layer(t, map[string][]byte{"c": text(3, 100<<10, 1)}))
	now := source.add(layer(t, map[string][]byte{"a": text(1, 100<<10, 2), "b": text(2, 100<<10, 2)}))
	gone := ocispec.Descriptor{Digest: digest.FromString("gone"), Size: 100_000}
	for name, tc := range map[string]struct {
		first  []ocispec.Descriptor // the candidates of the first run
		change func(t *testing.T, o *Options)
		again  bool
		want   Reason // of the second run
	}{
		"nothing changed": {[]ocispec.Descriptor{other}, func(*testing.T, *Options) {}, false, SavesLittle},
		"effort":          {[]ocispec.Descriptor{other}, func(_ *testing.T, o *Options) { o.Effort = delta.Max }, true, ""},
		"one was gone":    {[]ocispec.Descriptor{gone, other}, func(*testing.T, *Options) {}, true, SavesLittle},
		"a layer with the same files": {[]ocispec.Descriptor{other}, func(t *testing.T, o *Options) {
			o.Lookup = nil
			_, err := Make(t.Context(), []Change{{Blob: base, Source: "src", Candidates: []Candidate{candidate(other)}}}, source, *o)
			fail.On(t, err)
			o.Lookup = func(d digest.Digest) (Candidate, bool) { return candidate(base), d == base.Digest }
		}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reads := &memory{source.content, &sync.Mutex{}, map[digest.Digest]int{}}
			o := Options{Cache: t.TempDir(), Time: time.Hour}
			c := Change{Blob: now, Source: "src"}
			c.Candidates = append(c.Candidates, elements.Map(tc.first, candidate)...)
			for run := range 2 {
				if run == 1 {
					tc.change(t, &o)
				}
				made, err := Make(t.Context(), []Change{c}, reads, o)
				fail.On(t, err)
				made.Close()
				want := SavesLittle
				if run == 1 {
					want = tc.want
				}
				if (made.Whole[want].Blobs == 1) == (want == "") || len(made.Deltas) == 1 != (want == "") {
					t.Fatalf("run %d: %+v", run, made)
				}
			}
			fail.Diff(t, tc.again, reads.reads[now.Digest] == 2)
		})
	}
}

// TestKeyOfProgram checks that what is in the cache depends on the compressors of the program.
func TestKeyOfProgram(t *testing.T) {
	t.Parallel()
	c := &Change{Blob: blob("layer", 100)}
	one, same, site := &maker{}, &maker{}, &maker{Options: Options{Compressors: recompress.Supported()}}
	other := &maker{supported: []string{"go-gzip:6/another version"}}
	if one.key(c) != same.key(c) || one.key(c) == site.key(c) || one.key(c) == other.key(c) {
		t.Error("the keys are wrong")
	}
}

// TestKeptSpace checks that blobs that are kept leave space for the archive.
func TestKeptSpace(t *testing.T) {
	t.Parallel()
	m := &maker{result: &Result{kept: map[digest.Digest]*os.File{}}, free: func(string) (int64, error) { return 1000, nil }}
	for i, size := range []int64{60, 60, 60, 5} {
		w := &work{maker: m, change: &Change{Blob: blob(string(rune('a'+i)), size)}}
		m.keepBlob(w)
	}
	if len(m.result.kept) != 3 || m.keptBytes != 125 {
		t.Errorf("%d blobs of %d bytes are kept, of 1000 bytes of space", len(m.result.kept), m.keptBytes)
	}
}
