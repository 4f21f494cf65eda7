package archive

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestLostIsWhatCannotBeRead checks, for each kind of damage, that exactly the content that Verify
// reports as lost cannot be read.
func TestLostIsWhatCannotBeRead(t *testing.T) {
	s := newSample(1, 9000, 9000, 9000, 100)
	for name, tc := range map[string]struct {
		damage func(dir string, a *Archive) error
		lost   int // at least
		plan   bool
	}{
		"nothing": {func(string, *Archive) error { return nil }, 0, true},
		"a volume missing": {func(dir string, a *Archive) error {
			return os.Remove(filepath.Join(dir, a.set.Volumes[1].Name))
		}, 1, true},
		"the plan's volume missing": {func(dir string, a *Archive) error {
			return os.Remove(filepath.Join(dir, a.set.Volumes[0].Name))
		}, 1, false},
		"truncated in an entry": {func(dir string, a *Archive) error {
			v := a.set.Volumes[1]
			return os.Truncate(filepath.Join(dir, v.Name), v.Entries[1].Offset+10)
		}, 1, true},
		"truncated behind the entries": {func(dir string, a *Archive) error {
			v := a.set.Volumes[1]
			return os.Truncate(filepath.Join(dir, v.Name), v.Size-10)
		}, 0, true},
		"another volume in its place": {func(dir string, a *Archive) error {
			return os.Rename(filepath.Join(dir, a.set.Volumes[2].Name), filepath.Join(dir, a.set.Volumes[1].Name))
		}, 1, true},
		"altered": {func(dir string, a *Archive) error {
			v := a.set.Volumes[1]
			f, err := os.OpenFile(filepath.Join(dir, v.Name), os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("XXXX"), v.Entries[1].Offset+100)
			return errors.Join(err, f.Close())
		}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s.write(t, dir, Options{VolumeSize: 16 << 10})
			whole := mustOpen(t, dir)
			fail.On(t, tc.damage(dir, whole))
			a := mustInspect(t, dir)
			said := map[digest.Digest]bool{}
			var damage *DamageError
			if err := a.Verify(t.Context(), nil); errors.As(err, &damage) {
				for _, d := range damage.Damage {
					for _, lost := range d.Lost {
						said[lost] = true
					}
				}
			} else if err != nil || name != "nothing" {
				t.Fatalf("Verify = %v", err)
			}
			found := map[digest.Digest]bool{}
			for _, desc := range s.Entries {
				if _, err := readBlob(t, a, desc, 0); err != nil {
					found[desc.Digest] = true
					if !errors.As(err, &damage) {
						t.Errorf("reading %s: %v", desc.Digest, err)
					}
				}
			}
			if diff := cmp.Diff(found, said); diff != "" || len(said) < tc.lost {
				t.Errorf("%d are lost, %s", len(said), diff)
			}
			if text, err := readPlan(t.Context(), a); (err == nil) != tc.plan || tc.plan && !slices.Equal(text, s.plan) {
				t.Errorf("Plan = %q, %v", text, err)
			}
		})
	}
}
