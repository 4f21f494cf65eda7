package archive

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// recoverable opens and verifies an archive with damage that may lose nothing, reads its content back, and
// returns the damage.
func recoverable(t *testing.T, s *sample, read OpenOptions, dirs ...string) []Damage {
	t.Helper()
	a, err := OpenWith(read, dirs...)
	fail.On(t, err)
	defer a.Close()
	s.readBack(t, a)
	var damage *DamageError
	if err := a.Verify(t.Context(), nil); !errors.As(err, &damage) || !damage.Recoverable() {
		t.Fatalf("Verify = %v", err)
	}
	return damage.Damage
}

// TestDamageInBothCopies damages a volume, and another one in a copy of the archive whose files have other names.
func TestDamageInBothCopies(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSample(1, 30_000, 30_000, 30_000)
	s.write(t, dir, Options{VolumeSize: 48 << 10})
	for name, dirs := range map[string][]string{"the same folder": {dir}, "another folder": {dir, onlyVolumes(t, dir)}} {
		second := dirs[len(dirs)-1]
		if second == dir {
			for _, volume := range []string{volumeName(1, 1), volumeName(1, 2)} {
				fail.On(t, os.WriteFile(filepath.Join(dir, "Copy of "+volume), contentOf(t, filepath.Join(dir, volume)), 0o644))
			}
		}
		undo := alter(t, filepath.Join(dir, volumeName(1, 1)), flip(8*20_000))
		also := alter(t, filepath.Join(second, labelledFile(t, second, 2)), flip(8*20_000))
		if got := recoverable(t, s, OpenOptions{}, dirs...); len(got) != 2 {
			t.Errorf("%s: %+v", name, got)
		}
		also()
		undo()
	}
}

// labelledFile returns a file with a volume and another name.
func labelledFile(t *testing.T, dir string, volume int) string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	fail.On(t, err)
	defer root.Close()
	for _, l := range findLabelled(root, 0) {
		if l.label.Volume == volume && l.name != volumeName(1, volume) {
			return l.name
		}
	}
	t.Fatalf("%s has no such file", dir)
	return ""
}

// TestDamagedManifest damages the set manifest, or what belongs to it, as a copy that was cut off does: the copy of it in
// a volume is read. A repair is read in the same way.
func TestDamagedManifest(t *testing.T) {
	t.Parallel()
	ann, ops := person(t), newScribe(t, "ops@example.com")
	id := setID{sequence: 1}
	read := OpenOptions{Identities: []age.Identity{ann}, Signatures: ops.policy}
	dir, s := t.TempDir(), newSample(1, 30_000, 30_000)
	s.write(t, dir, Options{VolumeSize: 64 << 10, Sign: ops.sign, Encrypt: to(ann)})
	empty := func([]byte) []byte { return nil }
	for name, change := range map[string]func([]byte) []byte{id.manifest(): empty, id.sum(): empty, id.inner(): flip(999)} {
		undo := alter(t, filepath.Join(dir, name), change)
		if got := recoverable(t, s, read, dir); len(got) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		undo()
	}
	moved := filepath.Join(t.TempDir(), id.sum())
	fail.On(t, os.Rename(filepath.Join(dir, id.sum()), moved))
	recoverable(t, s, read, dir)
	fail.On(t, os.Rename(moved, filepath.Join(dir, id.sum())))

	// A key that does not open the set, and volumes of another set, are no reason to read the copy.
	_, err := OpenWith(OpenOptions{Identities: []age.Identity{person(t)}}, dir)
	if !errors.As(err, new(*EncryptedError)) {
		t.Errorf("with another key: %v", err)
	}
	other := t.TempDir()
	newSample(2, 30_000, 30_000).write(t, other, Options{VolumeSize: 64 << 10})
	fail.On(t, os.WriteFile(filepath.Join(other, "other.tar"), contentOf(t, filepath.Join(dir, volumeName(1, 1))), 0o644))
	alter(t, filepath.Join(other, id.manifest()), empty)
	_, err = Open(other)
	says(t, err, "gantry-000001.json: its digest is")

	a, err := OpenWith(read, dir)
	fail.On(t, err)
	info, lost := a.Selected(), s.Entries[1]
	fail.On(t, a.Close())
	repair := &sample{Entries: s.Entries[1:2], bytes: s.bytes}
	repair.write(t, dir, Options{Repair: &Repair{SetRef: state.SetRef{Sequence: 1, Set: info.Set}, Plan: info.Plan}, Sign: ops.sign, Encrypt: to(ann)})
	var log bytes.Buffer
	logging := read
	logging.Log = slog.New(slog.NewTextHandler(&log, nil))
	a, err = OpenWith(logging, dir)
	if err := errors.Join(err, a.Close()); err != nil || log.Len() > 0 {
		t.Errorf("with an intact repair: %v %s", err, &log)
	}
	alter(t, filepath.Join(dir, setID{1, true}.manifest()), empty)
	if got := recoverable(t, s, read, dir); len(got) != 1 || got[0].File != (setID{1, true}).manifest() {
		t.Errorf("the repair of %s: %+v", lost.Digest, got)
	}
}
