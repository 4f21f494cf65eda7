package archive

import (
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// TestSignWhatIsKnown checks that an existing set is signed only if it is the requested set and
// MaySign allows it.
func TestSignWhatIsKnown(t *testing.T) {
	s, dir := newSample(1, 3000), t.TempDir()
	s.write(t, dir, Options{})
	made, ops := s.onto(t, dir, 1).Sets[0].Set, newScribe(t, "ops@example.com")
	says(t, Sign(t.Context(), dir, state.SetRef{Sequence: 1, Set: digest.FromString("another")}, ops.sign), "it is "+string(made))
	var asked []state.SetRef
	opts := Options{Sign: ops.sign, MaySign: func(set state.SetRef) bool { asked = append(asked, set); return false }}
	s.write(t, dir, opts)
	if want := []state.SetRef{{Sequence: 1, Set: made}}; !slices.Equal(asked, want) {
		t.Errorf("asked about %v, want %v", asked, want)
	}
	if got := names(t, dir); slices.Contains(got, firstSig) || !slices.Contains(got, "gantry-000002.json.sig") {
		t.Errorf("the folder has %v", got)
	}
	fail.On(t, Sign(t.Context(), dir, state.SetRef{Sequence: 1, Set: made}, ops.sign))
	if got := names(t, dir); !slices.Contains(got, firstSig) {
		t.Errorf("the folder has %v", got)
	}
}
