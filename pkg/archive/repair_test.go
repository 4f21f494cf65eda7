package archive

import (
	"errors"
	"slices"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestRepair writes the lost content of a set as a repair, continues it, and writes it again.
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
	fail.Diff(t, 0, repair.put(t, w))
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
	_, err := Create(t.Context(), to, repair.content(), opts)
	says(t, err, "gantry-000001-repair.json already repairs that set")
}
