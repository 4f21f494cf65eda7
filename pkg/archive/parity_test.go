package archive

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive/parity"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/file/space"
)

// redundant writes an archive of several volumes with parity and returns its folder and files.
func redundant(t *testing.T, percent int, opts Options) (dir string, files map[string]string) {
	t.Helper()
	dir = t.TempDir()
	opts.VolumeSize, opts.Redundancy = 800<<10, percent
	newSample(7, 500_000, 900_000, 300_000, 1_500_000, 200_000).write(t, dir, opts)
	return dir, folder(t, dir)
}

// rebuildIn rebuilds what is missing in folders.
func rebuildIn(t *testing.T, opts RebuildOptions, dirs ...string) ([]RebuiltVolume, error) {
	t.Helper()
	a := mustInspect(t, dirs...)
	defer a.Close()
	return a.Rebuild(t.Context(), opts)
}

// TestRebuildVolumes removes and damages volumes, up to what the parity files allow and beyond, and compares
// rebuilt volumes with what was written.
func TestRebuildVolumes(t *testing.T) {
	t.Parallel()
	identity, err := age.GenerateX25519Identity()
	fail.On(t, err)
	for kind, opts := range map[string]Options{
		"plain":     {},
		"encrypted": {Encrypt: &Encryption{Recipients: []age.Recipient{identity.Recipient()}}},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir, files := redundant(t, 40, opts)
			volumes := slices.DeleteFunc(names(t, dir), func(n string) bool { return !strings.HasSuffix(n, ".tar") })
			count := parity.Count(len(volumes), 40)
			if len(volumes) < 4 || count != 2 && count != 3 || len(names(t, dir)) < len(volumes)+count {
				t.Fatalf("%d volumes: %q", len(volumes), names(t, dir))
			}
			for name, text := range files {
				if len(text) > 800<<10 {
					t.Errorf("%s has %d bytes", name, len(text))
				}
			}
			rnd := rand.New(rand.NewPCG(9, 9))
			for lost := range count + 2 {
				chosen := rnd.Perm(len(volumes))[:lost]
				for i, v := range chosen {
					path := filepath.Join(dir, volumes[v])
					var err error
					switch i % 3 {
					case 0:
						err = os.Remove(path)
					case 1:
						err = os.Truncate(path, 1000)
					default:
						err = os.WriteFile(path, []byte(strings.Repeat("x", len(files[volumes[v]]))), 0o644)
					}
					fail.On(t, err)
				}
				before := folder(t, dir)
				done, err := rebuildIn(t, RebuildOptions{}, dir)
				if lost > count {
					if err == nil || !strings.Contains(err.Error(), "up to 1 more") || advice.KindOf(err) != advice.Mismatch {
						t.Errorf("%d of %d lost with %d parity files: %v", lost, len(volumes), count, err)
					}
					if diff := cmp.Diff(before, folder(t, dir)); diff != "" {
						t.Error("something was written")
					}
					break
				}
				if err != nil || len(done) != lost {
					t.Fatalf("%d of %d lost: %v, %v", lost, len(volumes), done, err)
				}
				if got := folder(t, dir); !cmp.Equal(files, got) {
					t.Fatalf("with %d volumes lost, the folder differs: %q", lost, names(t, dir))
				}
			}
		})
	}
}

// TestVerifyParity finds every damaged bit of a parity file, and says that it is one.
func TestVerifyParity(t *testing.T) {
	t.Parallel()
	dir, files := redundant(t, 40, Options{})
	fail.On(t, inspect(t, dir))
	name := setID{sequence: 1}.parity(2)
	size := int64(len(files[name]))
	verify := func(want string) {
		t.Helper()
		var damage *DamageError
		if err := inspect(t, dir); !errors.As(err, &damage) || len(damage.Damage) != 1 || damage.Damage[0].File != name || damage.Damage[0].Problem != want || len(damage.Lost()) > 0 {
			t.Errorf("want %q: %v", want, err)
		}
	}
	for want, all := range map[string][]int64{
		"one of its two heads is damaged": {0, 200, 4096, 8100, size - 1, size - 8192},
		"1 of its 9 blocks are damaged":   {8192, size / 2, size - 8193},
	} {
		for _, at := range all {
			undo := alter(t, filepath.Join(dir, name), flip(8*at))
			verify(want)
			undo()
		}
	}
	undo := alter(t, filepath.Join(dir, name), func(b []byte) []byte { return append(b, 0) })
	verify(fmt.Sprintf("it has %d bytes instead of %d", size+1, size))
	undo()
	alter(t, filepath.Join(dir, name), func(b []byte) []byte { return make([]byte, len(b)) })
	verify("the head of the parity file is damaged")
}

// TestRebuildSectors damages every volume at another place, which one parity file repairs, and writes the
// volumes to another folder.
func TestRebuildSectors(t *testing.T) {
	t.Parallel()
	dir, files := redundant(t, 1, Options{})
	i := 0
	for name, text := range files {
		if !strings.HasSuffix(name, ".tar") || len(text) < (i+1)*(64<<10) {
			continue
		}
		raw := []byte(text)
		raw[i*(64<<10)+600] ^= 1
		fail.On(t, os.WriteFile(filepath.Join(dir, name), raw, 0o644))
		i++
	}
	damaged, to := folder(t, dir), filepath.Join(t.TempDir(), "to")
	done, err := rebuildIn(t, RebuildOptions{To: to}, dir)
	if err != nil || len(done) != i || i < 3 || done[0].Blocks != 1 || done[0].Folder != to {
		t.Fatalf("%d damaged: %+v, %v", i, done, err)
	}
	for name, text := range folder(t, to) {
		fail.Diff(t, files[name], text)
	}
	if !cmp.Equal(damaged, folder(t, dir)) {
		t.Error("the damaged folder was changed")
	}
}

// TestParityRuns checks that a second run writes nothing, that it adds parity that is missing, and that parity
// counts in the check of the free space. A parity of another set is not used.
func TestParityRuns(t *testing.T) {
	t.Parallel()
	dir, files := redundant(t, 40, Options{})
	sample := newSample(7, 500_000, 900_000, 300_000, 1_500_000, 200_000)
	first := setID{sequence: 1}.parity(1)
	fail.On(t, os.Remove(filepath.Join(dir, first)))
	sample.write(t, dir, Options{VolumeSize: 800 << 10, Redundancy: 40})
	if !cmp.Equal(files, folder(t, dir)) {
		t.Errorf("the second run changed the folder: %q", names(t, dir))
	}
	sample.write(t, dir, Options{VolumeSize: 800 << 10, Redundancy: 1})
	got := slices.DeleteFunc(names(t, dir), func(n string) bool { return !strings.HasSuffix(n, paritySuffix) })
	fail.Diff(t, []string{first}, got)
	// Full disks.
	var volumes int64
	for name, text := range files {
		if strings.HasSuffix(name, ".tar") {
			volumes += int64(len(text))
		}
	}
	free := func(string) (int64, error) { return volumes + 100_000, nil }
	_, err := Create(t.Context(), t.TempDir(), sample.content(), Options{VolumeSize: 800 << 10, Redundancy: 40, freeSpace: free})
	var full *space.Error
	if !errors.As(err, &full) {
		t.Errorf("without space for parity: %v", err)
	}
	if _, err := Create(t.Context(), t.TempDir(), sample.content(), Options{VolumeSize: 800 << 10, freeSpace: free}); err != nil {
		t.Errorf("without parity: %v", err)
	}
	fail.On(t, os.Remove(filepath.Join(dir, setID{sequence: 1}.volume(2))))
	_, err = rebuildIn(t, RebuildOptions{freeSpace: func(string) (int64, error) { return 1000, nil }}, dir)
	if !errors.As(err, &full) {
		t.Errorf("without space for a rebuilt volume: %v", err)
	}
	if left := names(t, dir); slices.ContainsFunc(left, func(n string) bool { return strings.HasPrefix(n, ".tmp") }) {
		t.Errorf("temporary files are left: %q", left)
	}
	// The parity of another archive.
	other := t.TempDir()
	newSample(8, 500_000, 900_000, 300_000, 1_500_000, 200_000).write(t, other, Options{VolumeSize: 800 << 10, Redundancy: 40})
	raw, err := os.ReadFile(filepath.Join(other, first))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, first), raw, 0o644)
	}
	fail.On(t, err)
	_, err = rebuildIn(t, RebuildOptions{}, dir)
	says(t, err, "other volumes")
}

// TestParityRefuses checks options that cannot be met, and an archive without parity.
func TestParityRefuses(t *testing.T) {
	t.Parallel()
	sample := newSample(7, 500_000)
	for _, opts := range []Options{{Redundancy: -1}, {Redundancy: 101}, {Redundancy: 10, VolumeSize: 40 << 10}, {Redundancy: 10, Repair: &Repair{}}} {
		if _, err := Create(t.Context(), t.TempDir(), sample.content(), opts); err == nil {
			t.Errorf("%+v is accepted", opts)
		}
	}
	dir := t.TempDir()
	sample.write(t, dir, Options{})
	_, err := rebuildIn(t, RebuildOptions{}, dir)
	says(t, err, "there are no parity files")
	a := mustInspect(t, dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(syscall.EINTR)
	opts := Options{Redundancy: 10}
	fail.Diff(t, syscall.EINTR, AddParity(ctx, dir, a.Selected().SetRef, opts), cmpopts.EquateErrors())
	if err := AddParity(t.Context(), dir, a.Selected().SetRef, opts); err != nil || a.ParityFiles() != 1 {
		t.Errorf("%d parity files: %v", a.ParityFiles(), err)
	}
}
