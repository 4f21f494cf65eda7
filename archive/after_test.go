package archive

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"
)

// A set of a series that was written elsewhere too gets a number of its own, and
// the Writer tells the digest of its set manifest.
func TestAfter(t *testing.T) {
	dir := t.TempDir()
	c := newSample(1, 40000)
	w := begin(t, dir, c, Options{VolumeSize: 32 << 10, After: 6})
	if set, err := w.Set(); err != nil || set != (BaseSet{Sequence: 7}) {
		t.Errorf("before it is finished it is %v, %v", set, err)
	}
	c.put(t, w)
	if err := w.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	set, err := w.Set()
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, setName(7)))
	if err != nil {
		t.Fatal(err)
	}
	if want := (BaseSet{7, digest.FromBytes(raw)}); set != want {
		t.Errorf("it is %v, want %v", set, want)
	}
	// The same again is that set, whatever was written elsewhere since.
	again := begin(t, dir, c, Options{VolumeSize: 32 << 10, After: 9})
	other, err := again.Set()
	if err := errors.Join(err, again.Close()); err != nil || !again.Complete() || other != set {
		t.Errorf("again it is %v, complete %v, %v", other, again.Complete(), err)
	}
}
