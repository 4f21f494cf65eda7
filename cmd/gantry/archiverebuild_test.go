package main

import (
	"os"
	"testing"

	"github.com/gantry-mirror/gantry/archive/rebuild"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestRebuild writes an archive with parity, loses a volume and damages another place, rebuilds both and
// fills the mirror. Until then, every verb that finds the damage says what to do.
func TestRebuild(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	disk, have, _ := w.disk("disk", "--redundancy", "10%")
	info := have.Selected()
	second, third := info.Volumes[1].Name, info.Volumes[2].Name
	w.says(w.must("mirror", "-c", w.path("imageset.yaml"), disk, "--volume-size", "0.5MB", "--redundancy", "10").stdout, "Nothing to copy", "gantry-000001.0001.parity")
	w.says(w.looked(exitOK, "archive", "rebuild", disk).stdout, "nothing was rebuilt")
	if _, err := os.Stat(w.path("disk/gantry-000001.0001.parity")); err != nil {
		t.Fatal(err)
	}
	w.must("verify", disk)

	want, err := os.ReadFile(w.path("disk/" + second))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(w.path("disk/" + second)); err != nil {
		t.Fatal(err)
	}
	w.says(w.looked(exitMismatch, "verify", disk).stderr, "gantry archive rebuild")
	o := w.gantry("mirror", "--from", disk, w.docker("/rebuilt"), "--workspace", w.path("far"))
	if o.code != exitMismatch {
		t.Errorf("without a volume, mirror --from ended with %d", o.code)
	}
	w.says(o.stderr, second, "gantry archive rebuild")
	got := decoded[rebuild.Result](t, w.looked(exitOK, "archive", "rebuild", disk, "--output", "json").stdout)
	if len(got.Volumes) != 1 || got.Volumes[0].Name != second || got.Sequence != 1 {
		t.Errorf("%+v", got)
	}
	if again, err := os.ReadFile(w.path("disk/" + second)); err != nil || string(again) != string(want) {
		t.Errorf("the volume differs: %v", err)
	}

	// A damaged place, on a disk that is not changed.
	w.spoil("disk", largest(have, third))
	to := w.path("to")
	w.says(w.looked(exitOK, "archive", "rebuild", disk, "--to", to).stdout, "Rebuilt 1 volume", third)
	w.looked(exitMismatch, "verify", disk)
	w.must("mirror", "--from", fileScheme+to, "--from", disk, w.docker("/rebuilt"), "--workspace", w.path("far"))

	// More than the parity allows.
	for _, name := range []string{second, third} {
		if err := os.Remove(w.path("disk/" + name)); err != nil {
			t.Fatal(err)
		}
	}
	w.says(w.looked(exitMismatch, "archive", "rebuild", disk).stderr, "too much is lost", second, third, "repair-request")
	w.refuseLook(exitUsage, []string{"there are no parity files"}, "archive", "rebuild", fileScheme+w.plainDisk())
}

// plainDisk writes an archive without parity and returns its folder.
func (w *fixture) plainDisk() string {
	w.disk("plain", "--full")
	return w.path("plain")
}

// TestRebuildEarlier damages an archive that a later one builds on: the hint names it, and the command that it prints
// repairs it.
func TestRebuildEarlier(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	one, have, _ := w.disk("one", "--redundancy", "10%")
	img, err := registrytest.Image("new")
	if err != nil {
		t.Fatal(err)
	}
	w.push("images.example.net/tools/new:v1", img)
	two := fileScheme + w.path("two")
	isc := w.write("imageset.yaml", w.read("imageset.yaml")+"  - name: images.example.net/tools/new:v1\n")
	w.must("mirror", "-c", isc, two, "--redundancy", "10%")
	w.must("verify", one, two)
	if err := os.Remove(w.path("one/" + have.Selected().Volumes[1].Name)); err != nil {
		t.Fatal(err)
	}
	o := w.looked(exitMismatch, "verify", one, two)
	w.says(o.stderr, "gantry archive rebuild with --sequence 1, and repeat")
	w.looked(exitOK, "archive", "rebuild", one, two, "--sequence", "1")
	w.must("verify", one, two)
}
