package archive

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// TestAfter checks that a set whose series also has sets elsewhere gets a number above theirs, and
// that the Writer returns the digest of its set manifest.
func TestAfter(t *testing.T) {
	dir := t.TempDir()
	c := newSample(1, 40000)
	w := begin(t, dir, c, Options{VolumeSize: 32 << 10, After: 6})
	if set, err := w.Ref(); err != nil || set != (state.SetRef{Sequence: 7}) {
		t.Errorf("before it is finished it is %v, %v", set, err)
	}
	c.put(t, w)
	fail.On(t, w.Finish(t.Context()))
	set, err := w.Ref()
	fail.On(t, errors.Join(err, w.Close()))
	raw := contentOf(t, filepath.Join(dir, setName(7)))
	if want := (state.SetRef{Sequence: 7, Set: digest.FromBytes(raw)}); set != want {
		t.Errorf("it is %v, want %v", set, want)
	}
	// Writing the same content again returns that set, even if later sets were written elsewhere.
	again := begin(t, dir, c, Options{VolumeSize: 32 << 10, After: 9})
	other, err := again.Ref()
	if err := errors.Join(err, again.Close()); err != nil || !again.Complete() || other != set {
		t.Errorf("again it is %v, complete %v, %v", other, again.Complete(), err)
	}
}
