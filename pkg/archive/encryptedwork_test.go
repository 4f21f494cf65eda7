package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"testing/iotest"

	"filippo.io/age"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestEncryptedInterrupted checks that an interrupted run does not reveal secrets either, and that
// another run continues it with only the public half of the key and fetches nothing twice.
func TestEncryptedInterrupted(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 3000, 70_000, 200_000, 12), t.TempDir(), person(t)
	s.Name = "the-name"
	opts := Options{VolumeSize: 96 << 10, Encrypt: to(ann)}
	w, err := Create(t.Context(), dir, s.content(), opts)
	fail.On(t, err)
	tells(t, dir, s.secrets()) // before the first byte of content
	half := s.Entries[:len(s.Entries)/2]
	gone := errors.New("the source went away")
	for i, e := range s.Entries {
		if i < len(half) {
			fail.On(t, w.PutBlob(t.Context(), "", e, s.open(e.Digest)))
			continue
		}
		err := w.PutBlob(t.Context(), "", e, func(ctx context.Context, _ int64) (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(s.bytes[e.Digest][:e.Size/2]), iotest.ErrReader(gone))), nil
		})
		if e.Size > 0 && !errors.Is(err, gone) {
			t.Fatal(err)
		}
	}
	tells(t, dir, s.secrets())
	fail.On(t, w.Close())
	tells(t, dir, s.secrets())
	key := w.outer.Encryption.Recipient

	if w, err = Create(t.Context(), dir, s.content(), opts); err != nil {
		t.Fatal(err)
	}
	for _, e := range half {
		if !w.Has(e) {
			t.Errorf("%s is to be fetched again", e.Digest)
		}
	}
	if w.outer.Encryption.Recipient != key {
		t.Error("it has another key")
	}
	if n := s.put(t, w); n > len(s.Entries)-len(half) {
		t.Errorf("%d of %d were put again", n, len(s.Entries))
	}
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	tells(t, dir, s.secrets())
	s.readBack(t, openAs(t, dir, ann))

	// Running again with the same options writes nothing. With another recipient, the archive is
	// written again.
	before := folder(t, dir)
	if w, err = Create(t.Context(), dir, s.content(), opts); err != nil || !w.Complete() {
		t.Fatalf("it is written again: %v", err)
	}
	set, err := w.Ref()
	if want := openAs(t, dir, ann).Selected().SetRef; err != nil || set != want {
		t.Errorf("it is %v, want %v: %v", set, want, err)
	}
	fail.On(t, w.Close())
	fail.Diff(t, before, folder(t, dir))
	opts.Encrypt = to(person(t))
	if w, err = Create(t.Context(), dir, s.content(), opts); err != nil || w.Complete() {
		t.Errorf("for another recipient nothing is written: %v", err)
	}
	fail.On(t, w.Close())
}

// TestEncryptedInterruptedDamage checks that content of an interrupted run is written again if the
// disk damaged it.
func TestEncryptedInterruptedDamage(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 3000, 70_000, 200_000), t.TempDir(), person(t)
	opts := Options{Encrypt: to(ann)}
	w, err := Create(t.Context(), dir, s.content(), opts)
	fail.On(t, err)
	s.put(t, w)
	e := *w.slot(s.Entries[4].Digest).entry.Encrypted
	fail.On(t, w.Close())
	alter(t, filepath.Join(dir, partialName, volumeName(1, 1)), flip((e.Offset+e.Size-1)*8))
	if w, err = Create(t.Context(), dir, s.content(), opts); err != nil {
		t.Fatal(err)
	}
	fail.Diff(t, 1, s.put(t, w))
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	a := openAs(t, dir, ann)
	s.readBack(t, a)
	fail.On(t, a.Verify(t.Context(), nil))
}

// TestEncryptedAnew checks that unfinished work is not continued without a secret, or if the set
// manifest was lost.
func TestEncryptedAnew(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 3000), t.TempDir(), person(t)
	opts := Options{Encrypt: &Encryption{Recipients: []age.Recipient{ann.Recipient()}}}
	for range 2 {
		w, err := Create(t.Context(), dir, s.content(), opts)
		fail.On(t, err)
		fail.Diff(t, len(s.Entries), s.put(t, w))
		fail.On(t, w.Close())
	}
	s.write(t, dir, opts)
	s.readBack(t, openAs(t, dir, ann))
}
