package archive

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// smaller returns s without the manifest of its last image, and with another plan.
func (s *sample) smaller() *sample {
	c := *s
	c.plan = append([]byte("other "), s.plan...)
	c.Plan = writeBytes(c.plan)
	c.Entries = s.Entries[:len(s.Entries)-1]
	c.names = s.names[:len(s.names)-1]
	c.Index = slices.Values(c.names)
	return &c
}

// fetch writes all entries to a Writer, and returns how many of them it read.
func (s *sample) fetch(t *testing.T, w *Writer) int {
	t.Helper()
	n := 0
	for _, e := range s.Entries {
		err := w.PutBlob(t.Context(), "", e, func(ctx context.Context, offset int64) (io.ReadCloser, error) {
			n++
			return s.open(e.Digest)(ctx, offset)
		})
		fail.On(t, err)
	}
	return n
}

// TestOtherPlanTakesWhatIsShared checks that after the plan changed, only new content is fetched,
// and the files are the same as without the earlier work.
func TestOtherPlanTakesWhatIsShared(t *testing.T) {
	whole := newSample(1, 20000, 9000, 700, 0, 512)
	smaller := whole.smaller()
	opts := Options{VolumeSize: 32 << 10}
	for name, tc := range map[string]struct {
		first, then *sample
		damage      func(t *testing.T, partial string, w *Writer)
		again       int
	}{
		"smaller": {whole, smaller, nil, 0},
		"larger":  {smaller, whole, nil, 1},
		"volume given its name": {whole, smaller, func(t *testing.T, partial string, w *Writer) {
			v := w.set.Volumes[0].Name
			fail.On(t, os.Rename(filepath.Join(partial, v), filepath.Join(partial, "..", v)))
		}, 0},
		"damaged content": {whole, smaller, func(t *testing.T, partial string, w *Writer) {
			s := w.slot(whole.Entries[0].Digest)
			alter(t, filepath.Join(partial, w.set.Volumes[s.volume].Name), flip(s.entry.Offset*8))
		}, 1},
		"no journal": {whole, smaller, func(t *testing.T, partial string, _ *Writer) {
			fail.On(t, os.Remove(filepath.Join(partial, journalName)))
		}, len(smaller.Entries)},
		"invalid set manifest": {whole, smaller, func(t *testing.T, partial string, _ *Writer) {
			alter(t, filepath.Join(partial, setName(1)), flip(100))
		}, len(smaller.Entries)},
	} {
		t.Run(name, func(t *testing.T) {
			want := reference(t, tc.then, opts)
			dir := t.TempDir()
			w := begin(t, dir, tc.first, opts)
			tc.first.put(t, w)
			fail.On(t, w.Close())
			if tc.damage != nil {
				tc.damage(t, filepath.Join(dir, partialName), w)
			}
			w = begin(t, dir, tc.then, opts)
			fail.Diff(t, tc.again, tc.then.fetch(t, w))
			fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
			fail.Diff(t, want, folder(t, dir))
		})
	}
}

// TestStoppedBeforeAdopting checks that a run that is stopped before it reused shared content does
// not lose it.
func TestStoppedBeforeAdopting(t *testing.T) {
	whole, dir := newSample(1, 20000, 9000, 700), t.TempDir()
	smaller := whole.smaller()
	w := begin(t, dir, whole, Options{})
	whole.put(t, w)
	fail.On(t, w.Close())
	w = begin(t, dir, smaller, Options{})
	fail.On(t, w.PutBlob(t.Context(), "", smaller.Entries[0], smaller.open(smaller.Entries[0].Digest)))
	fail.On(t, w.Close())
	w = begin(t, dir, smaller, Options{})
	fail.Diff(t, 0, smaller.fetch(t, w))
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	smaller.check(t, dir)
}

// TestNoRoomToAdopt checks that the unfinished work for the previous plan is deleted if there is
// not enough space for both.
func TestNoRoomToAdopt(t *testing.T) {
	whole, dir := newSample(1, 20000, 9000, 700), t.TempDir()
	smaller := whole.smaller()
	w := begin(t, dir, whole, Options{})
	whole.put(t, w)
	fail.On(t, w.Close())
	asked := 0
	w = begin(t, dir, smaller, Options{freeSpace: func(string) (int64, error) {
		if asked++; asked == 1 {
			return 1000, nil
		}
		return 1 << 40, nil
	}})
	fail.Diff(t, len(smaller.Entries), smaller.fetch(t, w))
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	smaller.check(t, dir)
}

// TestNextArchiveTakesFromTheLast checks that the next archive in a folder reuses unchanged content
// of the previous one, and fetches content that is damaged there.
func TestNextArchiveTakesFromTheLast(t *testing.T) {
	whole, dir := newSample(1, 20000, 9000, 700), t.TempDir()
	smaller := whole.smaller()
	smaller.write(t, dir, Options{})
	a, err := Open(dir)
	fail.On(t, err)
	found := locations(a.blobs, whole.Entries[1].Digest)[0]
	at := found.entry.Offset
	fail.On(t, a.Close())
	alter(t, filepath.Join(dir, volumeName(1, 1)), flip(at*8))
	w := begin(t, dir, whole, Options{Replace: true})
	if n := whole.fetch(t, w); n != 2 { // one new entry and one damaged entry
		t.Errorf("%d entries were needed", n)
	}
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	whole.check(t, dir)
}
