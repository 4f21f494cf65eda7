package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestRepair writes the lost content of a set as a repair, and checks that it is read together with
// the set.
func TestRepair(t *testing.T) {
	dir, s := t.TempDir(), newSample(1, 20000, 9000)
	s.write(t, dir, Options{})
	base := s.onto(t, dir, 1)
	lost := s.Entries[1]
	repair := *s
	repair.Content, repair.Entries = Content{}, []ocispec.Descriptor{lost}
	opts := Options{Repair: &Repair{base.Sets[0], base.Plan}, VolumeSize: 16 << 10, withoutCopy: true}
	to := t.TempDir()
	w := begin(t, to, &repair, opts)
	repair.put(t, w)
	fail.On(t, w.Close())
	w = begin(t, to, &repair, opts) // continues
	if n := repair.put(t, w); n != 0 {
		t.Errorf("%d entries were put again", n)
	}
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	want := []string{"gantry-000001-repair.0001.tar", "gantry-000001-repair.0002.tar", "gantry-000001-repair.json", "gantry-000001-repair.json.sha256"}
	fail.Diff(t, want, names(t, to))
	r := stored(t, to, setID{1, true})
	fail.Diff(t, []string{featureRepair, featureSplit}, r.Features)
	if slices.Contains(paths(r), sumsPath) || slices.Contains(paths(r), indexPath) {
		t.Errorf("it has more than what was lost: %q", paths(r))
	}
	if w = begin(t, to, &repair, opts); !w.Complete() {
		t.Error("it is not known again")
	}
	fail.On(t, w.Close())
	repair.Entries = []ocispec.Descriptor{s.Entries[0]}
	if _, err := Create(t.Context(), to, repair.content(), opts); err == nil || !strings.Contains(err.Error(), "gantry-000001-repair.json already repairs that set") {
		t.Errorf("another repair: %v", err)
	}

	// With the repair in the folder of the set, damaged content is read from the repair.
	for name, text := range folder(t, to) {
		fail.On(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	set := stored(t, dir, setID{sequence: 1})
	for _, e := range set.Volumes[0].Entries {
		if e.Digest == lost.Digest {
			alter(t, filepath.Join(dir, volumeName(1, 1)), flip(e.Offset*8))
		}
	}
	a, err := Open(dir)
	fail.On(t, err)
	defer a.Close()
	body, err := a.Blob(t.Context(), "", lost, 0)
	fail.On(t, err)
	if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, s.bytes[lost.Digest]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	fail.On(t, body.Close())
}

func TestSetManifestIsSigned(t *testing.T) {
	dir, s := t.TempDir(), newSample(1, 50000)
	refused := errors.New("no key")
	sign := func(_ context.Context, text io.Reader) ([]byte, error) {
		d, err := digest.FromReader(text)
		return []byte("signed " + d), err
	}
	w := begin(t, dir, s, Options{VolumeSize: 16 << 10, Sign: func(context.Context, io.Reader) ([]byte, error) { return nil, refused }})
	s.put(t, w)
	if err := w.Finish(t.Context()); !errors.Is(err, refused) {
		t.Errorf("Finish = %v", err)
	}
	fail.On(t, w.Close())
	check := func() {
		t.Helper()
		files := folder(t, dir)
		if want := "signed " + digest.FromString(files[setName(1)]).String(); files["gantry-000001.json.sig"] != want {
			t.Errorf("the signature is %q, not %q", files["gantry-000001.json.sig"], want)
		}
	}
	s.write(t, dir, Options{VolumeSize: 16 << 10, Sign: sign})
	check()
	// A complete repair without a signature is signed.
	fail.On(t, os.Remove(filepath.Join(dir, "gantry-000001.json.sig")))
	s.write(t, dir, Options{VolumeSize: 16 << 10, Sign: sign})
	check()
	// A repair that is already signed is not changed.
	before, err := os.Stat(filepath.Join(dir, "gantry-000001.json.sig"))
	fail.On(t, err)
	s.write(t, dir, Options{VolumeSize: 16 << 10, Sign: sign})
	if after, err := os.Stat(filepath.Join(dir, "gantry-000001.json.sig")); err != nil || !os.SameFile(before, after) {
		t.Errorf("the signature was written again: %v", err)
	}
}
