package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// plus returns a sample with the content of both.
func (s *sample) plus(more *sample) *sample {
	c := &sample{bytes: map[digest.Digest][]byte{}, plan: more.plan, names: slices.Concat(s.names, more.names)}
	c.Plan, c.Index = more.Plan, slices.Values(c.names)
	for _, from := range []*sample{s, more} {
		for _, e := range from.Entries {
			c.add(e.MediaType, from.bytes[e.Digest])
		}
	}
	return c
}

// onto returns the base for a set that builds on the set of a sample in a folder.
func (s *sample) onto(t *testing.T, dir string, sequence int) *Base {
	t.Helper()
	raw := contentOf(t, filepath.Join(dir, setName(sequence)))
	b := &Base{
		Sets: []state.SetRef{{Sequence: sequence, Set: digest.FromBytes(raw)}},
		Has:  func(d digest.Digest) bool { return s.bytes[d] != nil },
		Plan: digest.FromBytes(s.plan),
	}
	set, err := parseSet(raw)
	fail.On(t, err)
	for _, e := range set.Volumes[0].Entries {
		if e.Path == indexPath {
			b.Index = e.Digest
		}
	}
	return b
}

// stored reads the set manifest of a sequence.
func stored(t *testing.T, dir string, id setID) *set {
	t.Helper()
	raw := contentOf(t, filepath.Join(dir, id.manifest()))
	s, err := parseSet(raw)
	fail.On(t, err)
	return s
}

// paths returns the paths of the entries of a set.
func paths(s *set) []string {
	var all []string
	for _, v := range s.Volumes {
		all = append(all, elements.Map(v.Entries, func(e entry) string { return e.path() })...)
	}
	return all
}

func TestBuildsOn(t *testing.T) {
	dir := t.TempDir()
	first := newSample(1, 20000, 9000)
	both := first.plus(newSample(2, 30000))
	first.write(t, dir, Options{VolumeSize: 32 << 10})
	base := first.onto(t, dir, 1)
	shared := first.Entries[0]
	base.RepositoryOf = func(d digest.Digest) string {
		if d == shared.Digest {
			return "org/repository"
		}
		return ""
	}
	opts := Options{VolumeSize: 32 << 10, Base: base}
	w := begin(t, dir, both, opts)
	if !w.Has(shared) {
		t.Error("the Writer needs content that the site has")
	}
	err := w.PutBlob(t.Context(), "", shared, func(context.Context, int64) (io.ReadCloser, error) { return nil, errors.New("opened") })
	if err != nil {
		t.Error(err)
	}
	if n := both.put(t, w); n != 2 { // the configuration is the same
		t.Errorf("%d entries were needed, not the 2 that are new", n)
	}
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	s := stored(t, dir, setID{sequence: 2})
	want := []omitted{{shared.Digest, shared.Size, "org/repository"}}
	fail.Diff(t, want, s.Omitted)
	if len(s.BuildsOn) != 1 || s.BuildsOn[0] != base.Sets[0] {
		t.Errorf("it builds on %v", s.BuildsOn)
	}
	fail.Diff(t, []string{featureBuildsOn}, s.Features)
	for _, e := range first.Entries {
		if slices.Contains(paths(s), layout.BlobPath(e.Digest)) {
			t.Errorf("%s is in the set again", e.Digest)
		}
	}
	both.check(t, dir) // read through both sets

	// Extracted one after the other, they are the complete layout.
	to := extract(t, dir)
	for d, want := range both.bytes {
		if got, err := os.ReadFile(filepath.Join(to, layout.BlobPath(d))); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", d, err)
		}
	}
	if out, err := run(t, to, "sha256sum", "--strict", "--quiet", "-c", sumsPath); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNothingNewIsSmall checks that an archive without new content is small, even in a large
// series.
func TestNothingNewIsSmall(t *testing.T) {
	const images = 5000
	c := Content{Name: "series", Plan: writeBytes(bytes.Repeat([]byte(`{"source":"registry.example.com/org/name@sha256:..."},`), images))}
	var index, entries []ocispec.Descriptor
	for i := range images {
		m := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromString(fmt.Sprint("manifest", i)), Size: 1000}
		index = append(index, m)
		entries = append(entries, m)
		for j := range 5 {
			entries = append(entries, ocispec.Descriptor{Digest: digest.FromString(fmt.Sprint("layer", i, j)), Size: 1_000_000})
		}
	}
	c.Index, c.Entries = slices.Values(index), slices.Values(entries)
	whole, err := (&Options{VolumeSize: 4 << 30}).pack(c, 1, "", nil)
	fail.On(t, err)
	base := &Base{Has: func(digest.Digest) bool { return true }, Plan: whole.set.Plan}
	for _, e := range whole.set.Volumes[0].Entries {
		if e.Path == indexPath {
			base.Index = e.Digest
		}
	}
	for i := range 100 {
		base.Sets = append(base.Sets, state.SetRef{Sequence: i + 1, Set: digest.FromString(fmt.Sprint(i))})
	}
	p, err := (&Options{VolumeSize: 4 << 30, Base: base}).pack(c, 101, "", nil)
	fail.On(t, err)
	total := p.size + int64(len(sum(p.set.id(), p.digest)))
	for _, v := range p.set.Volumes {
		total += v.Size
	}
	if len(p.set.Volumes) != 1 || total >= 64<<10 {
		t.Errorf("%d volumes, %d bytes", len(p.set.Volumes), total)
	}
	fail.Diff(t, []string{"gantry/000101.0001.json", markerPath, sumsPath, copyPath}, paths(p.set))
	_, err = parseSet(encoded(t, p.set))
	fail.On(t, err)
}

// TestSequenceFollowsBase checks that the sequence is above those in the folder and at the site.
func TestSequenceFollowsBase(t *testing.T) {
	dir, s := t.TempDir(), newSample(1, 1000)
	s.write(t, dir, Options{})
	base := s.onto(t, dir, 1)
	base.Sets = append(base.Sets, state.SetRef{Sequence: 7, Set: digest.FromString("lost")}, state.SetRef{Sequence: 3, Set: digest.FromString("third")})
	w := begin(t, dir, s, Options{Base: base})
	defer w.Close()
	fail.Diff(t, 8, w.Sequence())
	on := elements.Map(w.set.BuildsOn, func(b state.SetRef) int { return b.Sequence })
	fail.Diff(t, []int{1, 3, 7}, on)
}

// TestSequenceFollowsVolumes checks that volumes without a set manifest are not overwritten.
func TestSequenceFollowsVolumes(t *testing.T) {
	dir, s := t.TempDir(), newSample(1, 1000)
	s.write(t, dir, Options{})
	stray := filepath.Join(dir, volumeName(4, 2))
	fail.On(t, os.WriteFile(stray, []byte("of another medium"), 0o644))
	more := s.plus(newSample(2, 2000))
	w := begin(t, dir, more, Options{})
	fail.Diff(t, 5, w.Sequence())
	fail.On(t, w.Close())
	if raw, err := os.ReadFile(stray); err != nil || string(raw) != "of another medium" {
		t.Errorf("%q, %v", raw, err)
	}
}

// TestInterruptedBuildsOn checks that an interrupted run is continued only by a run that builds on
// the same sets.
func TestInterruptedBuildsOn(t *testing.T) {
	dir := t.TempDir()
	first := newSample(1, 20000)
	both := first.plus(newSample(2, 30000, 500))
	first.write(t, dir, Options{})
	opts := Options{Base: first.onto(t, dir, 1)}
	w := begin(t, dir, both, opts)
	both.put(t, w)
	fail.On(t, w.Close())
	w = begin(t, crash(t, dir), both, opts)
	if n := both.put(t, w); n != 0 || w.Sequence() != 2 {
		t.Errorf("%d entries were needed for sequence %d", n, w.Sequence())
	}
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	// Without a base, the content is taken from the folder.
	w = begin(t, dir, both, Options{})
	fail.Diff(t, 0, both.fetch(t, w))
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	if s := stored(t, dir, setID{sequence: 2}); len(s.BuildsOn) > 0 {
		t.Error("it builds on another")
	}
	both.check(t, dir)
}

func TestBaseRefused(t *testing.T) {
	s := newSample(1, 1000)
	all := func(digest.Digest) bool { return true }
	one, other := digest.FromString("1"), digest.FromString("2")
	for name, tc := range map[string]struct {
		opts Options
		want string
	}{
		"replace":       {Options{Replace: true, Base: &Base{Sets: []state.SetRef{{Sequence: 1, Set: one}}, Has: all}}, "cannot replace them"},
		"no sets":       {Options{Base: &Base{Has: all}}, "name its sets"},
		"holds nothing": {Options{Base: &Base{Sets: []state.SetRef{{Sequence: 1, Set: one}}}}, "its content"},
		"two of one":    {Options{Base: &Base{Sets: []state.SetRef{{Sequence: 1, Set: one}, {Sequence: 1, Set: other}}, Has: all}}, "two sets with sequence 1"},
		"no digest":     {Options{Base: &Base{Sets: []state.SetRef{{Sequence: 1, Set: "x"}}, Has: all}}, "is not a valid set"},
		"no sequence":   {Options{Base: &Base{Sets: []state.SetRef{{Sequence: 0, Set: one}}, Has: all}}, "is not a valid set"},
		"repository": {Options{Base: &Base{Sets: []state.SetRef{{Sequence: 1, Set: one}}, Has: all, RepositoryOf: func(digest.Digest) string { return "../x" }}},
			`repository "../x"`},
		"repair and base": {Options{Base: &Base{Sets: []state.SetRef{{Sequence: 1, Set: one}}, Has: all}, Repair: &Repair{state.SetRef{Sequence: 1, Set: one}, one}}, "a repair neither builds on"},
		"repair of none":  {Options{Repair: &Repair{state.SetRef{Sequence: 1, Set: ""}, one}}, "is not a valid set"},
		"repair's plan":   {Options{Repair: &Repair{state.SetRef{Sequence: 1, Set: one}, one}}, "the plan is"},
		"last sequence":   {Options{Base: &Base{Sets: []state.SetRef{{Sequence: maxSequence, Set: one}}, Has: all}}, "is the highest possible"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := Create(t.Context(), dir, s.content(), tc.opts)
			says(t, err, tc.want)
			fail.Diff(t, []string(nil), names(t, dir))
		})
	}
}

// TestOtherSeries checks that archives of two configurations cannot be in one folder.
func TestOtherSeries(t *testing.T) {
	dir, s := t.TempDir(), newSample(1, 1000)
	s.Name = "platform"
	s.write(t, dir, Options{})
	s.Name = "operators"
	_, err := Create(t.Context(), dir, s.content(), Options{})
	says(t, err, `archives of "platform", and this one would be of "operators"`)
	s.write(t, dir, Options{Replace: true})
	s.check(t, dir)
	s.Name = "-x"
	_, err = Create(t.Context(), t.TempDir(), s.content(), Options{})
	says(t, err, `"-x"`)
}
