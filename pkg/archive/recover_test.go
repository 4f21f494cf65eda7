package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// onlyVolumes copies the volumes of folders, and nothing else, to a new folder, under names that
// neither tell the number nor the set.
func onlyVolumes(t *testing.T, dirs ...string) string {
	t.Helper()
	to, n := t.TempDir(), 0
	for _, dir := range dirs {
		for _, name := range fileNamesIn(t, dir) {
			if !strings.HasSuffix(name, ".tar") {
				continue
			}
			raw := contentOf(t, filepath.Join(dir, name))
			n++
			fail.On(t, os.WriteFile(filepath.Join(to, fmt.Sprintf("disk %c.bin", 'z'-n)), raw, 0o600))
		}
	}
	return to
}

// TestVolumesAlone checks that everything about an archive can be read from its volumes: the set manifest
// is the same, byte for byte, and so is what it proves.
func TestVolumesAlone(t *testing.T) {
	t.Parallel()
	ann, ops := person(t), newScribe(t, "ops@example.com")
	for name, opts := range map[string]Options{
		"plain":      {},
		"volumes":    {VolumeSize: 64 << 10},
		"parts":      {VolumeSize: 24 << 10},
		"named":      {VolumeSize: 64 << 10, OCMirrorNames: true},
		"signed":     {VolumeSize: 64 << 10, Sign: ops.sign},
		"encrypted":  {VolumeSize: 64 << 10, Encrypt: to(ann)},
		"everything": {VolumeSize: 48 << 10, OCMirrorNames: true, Sign: ops.sign, Encrypt: to(ann)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, s := t.TempDir(), newSample(1, 3000, 70_000, 10, 0, 5000)
			s.write(t, dir, opts)
			read := OpenOptions{}
			if opts.Encrypt != nil {
				read.Identities = []age.Identity{ann}
			}
			if opts.Sign != nil {
				read.Signatures = ops.policy
			}
			want, err := OpenWith(read, dir)
			fail.On(t, err)
			defer want.Close()
			var log bytes.Buffer
			read.Log = slog.New(slog.NewTextHandler(&log, nil))
			alone := onlyVolumes(t, dir)
			a, err := OpenWith(read, alone)
			fail.On(t, err)
			defer a.Close()
			s.readBack(t, a)
			fail.On(t, a.Verify(t.Context(), nil))
			if got := a.Selected(); got.Set != want.Selected().Set || got.Recovered != RecoveredCopy || want.Selected().Recovered != "" {
				t.Errorf("the set is %s (%s), not %s", got.Set, got.Recovered, want.Selected().Set)
			}
			if opts.Sign != nil && a.Signature().String() != want.Signature().String() || a.Signature().Signed != (opts.Sign != nil) {
				t.Errorf("the signature is %+v, not %+v", a.Signature(), want.Signature())
			}
			if !strings.Contains(log.String(), "its copy in a volume is used") {
				t.Errorf("it logs %s", &log)
			}
			if n, err := Sequences(alone); err != nil || !slices.Equal(n, []int{1}) {
				t.Errorf("sequences %v, %v", n, err)
			}
		})
	}
}

// TestAlteredVolumesAlone checks that no byte of a volume can be changed unnoticed if volumes are all there
// is, and that a key that is not trusted is not accepted from inside.
func TestAlteredVolumesAlone(t *testing.T) {
	t.Parallel()
	ops, mallory := newScribe(t, "ops@example.com"), newScribe(t, "mallory@example.org")
	dir, s := t.TempDir(), newSample(1, 3000)
	s.write(t, dir, Options{Sign: ops.sign})
	alone := onlyVolumes(t, dir)
	file := filepath.Join(alone, fileNamesIn(t, alone)[0])
	raw := contentOf(t, file)
	for at := 0; at < len(raw); at += sparsely(13, 101) {
		bad := slices.Clone(raw)
		bad[at] ^= 1 << (at % 8)
		fail.On(t, os.WriteFile(file, bad, 0o600))
		a, err := OpenWith(OpenOptions{Signatures: ops.policy}, alone)
		if err == nil {
			err = errors.Join(a.Verify(t.Context(), nil), a.Close())
		}
		if err == nil {
			t.Errorf("byte %d was altered", at)
		}
	}
	fail.On(t, os.WriteFile(file, raw, 0o600))
	_, err := OpenWith(OpenOptions{Signatures: mallory.policy}, alone)
	says(t, err, "not a trusted key")
	unsigned := t.TempDir()
	s.write(t, unsigned, Options{})
	if _, err = OpenWith(OpenOptions{Signatures: ops.policy}, onlyVolumes(t, unsigned)); err == nil || advice.KindOf(err) != advice.Mismatch {
		t.Errorf("without a signature: %v", err)
	}
}

// TestOldVolumesAlone checks that archives without a copy of the set manifest can be read from their
// volumes, and that what is not known is an error or logged.
func TestOldVolumesAlone(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]Options{
		"plain":   {withoutCopy: true},
		"volumes": {withoutCopy: true, VolumeSize: 32 << 10},
		"parts":   {withoutCopy: true, VolumeSize: 16 << 10},
		"named":   {withoutCopy: true, VolumeSize: 32 << 10, OCMirrorNames: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, s := t.TempDir(), newSample(1, 3000, 70_000, 10, 0, 5000)
			s.write(t, dir, opts)
			want := mustOpen(t, dir)
			var log bytes.Buffer
			alone := onlyVolumes(t, dir)
			a, err := OpenWith(OpenOptions{Log: slog.New(slog.NewTextHandler(&log, nil))}, alone)
			fail.On(t, err)
			defer a.Close()
			s.readBack(t, a)
			fail.On(t, a.Verify(t.Context(), nil))
			got := a.Selected()
			if got.Recovered != RecoveredHeaders || got.Set != want.Selected().Set && opts.OCMirrorNames == false {
				t.Errorf("the set is %s (%s), not %s", got.Set, got.Recovered, want.Selected().Set)
			}
			if !strings.Contains(log.String(), "not the signature") {
				t.Errorf("it logs %s", &log)
			}
			names := fileNamesIn(t, alone)
			fail.On(t, os.Remove(filepath.Join(alone, names[0])))
			_, err = Open(alone)
			var damage *DamageError
			if len(names) > 1 && (!errors.As(err, &damage) || damage.Damage[0].Volume == "") || len(names) == 1 && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("without a volume: %v", err)
			}
		})
	}
	ann, dir := person(t), t.TempDir()
	newSample(1, 3000).write(t, dir, Options{withoutCopy: true, Encrypt: to(ann)})
	_, err := OpenWith(OpenOptions{Identities: []age.Identity{ann}}, onlyVolumes(t, dir))
	says(t, err, "its key is only in gantry-000001.json")
}

// TestIncrementsAlone checks that a series is read from its volumes, also together with sets that have
// their set manifest, and that volumes of another series are in the way of none.
func TestIncrementsAlone(t *testing.T) {
	t.Parallel()
	one, two, s := t.TempDir(), t.TempDir(), newSample(1, 3000, 70_000)
	s.write(t, one, Options{})
	first := mustOpen(t, one)
	more := newSample(2, 3000, 70_000, 900)
	has := map[string]bool{}
	for _, e := range s.Entries {
		has[string(e.Digest)] = true
	}
	more.write(t, two, Options{Base: &Base{
		Sets: []state.SetRef{first.Selected().SetRef}, Has: func(d digest.Digest) bool { return has[string(d)] },
	}})
	for name, dirs := range map[string][]string{
		"both":           {onlyVolumes(t, one, two)},
		"the second":     {one, onlyVolumes(t, two)},
		"the first":      {onlyVolumes(t, one), two},
		"in two folders": {onlyVolumes(t, one), onlyVolumes(t, two)},
	} {
		a, err := Open(dirs...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		more.readBack(t, a)
		if sets := a.Sets(); len(sets) != 2 || sets[0].Sequence != 2 || sets[1].Dir == "" {
			t.Errorf("%s: %+v", name, sets)
		}
		if err := errors.Join(a.Verify(t.Context(), nil), a.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := newSample(3, 10)
	other.Name = "other"
	three := t.TempDir()
	other.write(t, three, Options{After: 8})
	a := mustOpen(t, one, onlyVolumes(t, three))
	fail.Diff(t, 1, a.Selected().Sequence)
	if _, err := Open(onlyVolumes(t, one, one)); err != nil {
		t.Errorf("volumes twice: %v", err)
	}
}

// hasCopyIn reports whether a volume, counted from 0, has the copy of the set manifest.
func (s *set) hasCopyIn(volume int) bool {
	return slices.ContainsFunc(s.Volumes[volume].Entries, func(e entry) bool { return e.Path == copyPath })
}

// TestRebuildVolumesAlone checks that parity files, which name the set manifest by its digest, rebuild a
// volume without it.
func TestRebuildVolumesAlone(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSample(1, 30_000, 30_000, 30_000)
	s.write(t, dir, Options{VolumeSize: 64 << 10, Redundancy: 50})
	want := folder(t, dir)
	lost := volumeName(1, 2)
	if stored(t, dir, setID{sequence: 1}).hasCopyIn(1) {
		lost = volumeName(1, 1)
	}
	for _, name := range []string{firstSet, firstSum, lost} {
		fail.On(t, os.Remove(filepath.Join(dir, name)))
	}
	a := mustInspect(t, dir)
	if done, err := a.Rebuild(t.Context(), RebuildOptions{}); err != nil || len(done) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := folder(t, dir); got[lost] != want[lost] {
		t.Error("the volume is another one")
	}
}
