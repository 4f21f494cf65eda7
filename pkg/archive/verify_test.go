package archive

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// inspect opens and verifies an archive, and returns the error.
func inspect(t *testing.T, dir string) error {
	t.Helper()
	a, err := Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(a.Verify(t.Context(), nil), a.Close())
}

// alter changes a file in place and returns a function that undoes the change.
func alter(t *testing.T, path string, change func([]byte) []byte) (undo func()) {
	t.Helper()
	before := contentOf(t, path)
	set := func(raw []byte) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		fail.On(t, err)
		_, err = f.WriteAt(raw, 0) // in place, which is faster than writing a new file
		fail.On(t, errors.Join(err, f.Truncate(int64(len(raw))), f.Close()))
	}
	set(change(append([]byte(nil), before...)))
	return func() { set(before) }
}

func flip(bit int64) func([]byte) []byte {
	return func(raw []byte) []byte {
		raw[bit/8] ^= 1 << (bit % 8)
		return raw
	}
}

// sparsely returns the second number if tests are to be short, else the first.
func sparsely(all, few int) int {
	if testing.Short() {
		return few
	}
	return all
}

// TestEveryBitCounts checks that a single changed bit is found, wherever it is.
func TestEveryBitCounts(t *testing.T) {
	s, dir := newSample(1, 9000, 3000, 1, 0, 700), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 16 << 10})
	fail.On(t, inspect(t, dir))
	files := folder(t, dir)
	if len(files) < 4 {
		t.Fatalf("%d files: want several volumes", len(files))
	}
	random := rand.New(rand.NewPCG(1, 2)) // the same bits each time
	for name, text := range files {
		for range sparsely(100, 25) {
			bit := random.Int64N(int64(len(text)) * 8)
			undo := alter(t, filepath.Join(dir, name), flip(bit))
			err := inspect(t, dir)
			if damage, ok := errors.AsType[*DamageError](err); !ok {
				t.Errorf("%s, bit %d: %v", name, bit, err)
			} else if file := damage.Damage[0].File; len(damage.Damage) != 1 || file != name && !strings.Contains(name, ".json") {
				t.Errorf("%s, bit %d: it is said to be %v", name, bit, damage)
			}
			undo()
		}
	}
}

func TestDamageIsNamed(t *testing.T) {
	s, dir := newSample(1, 9000, 9000, 9000), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 16 << 10, withoutCopy: true})
	other := t.TempDir()
	newSample(2, 9000, 9000, 9000).write(t, other, Options{VolumeSize: 16 << 10, withoutCopy: true})
	v := func(n int) string { return filepath.Join(dir, volumeName(1, n)) }
	missing := func(n int) string {
		return fmt.Sprintf("%s (sequence 1, volume %d of 4) is not in %s", volumeName(1, n), n, dir)
	}
	good := folder(t, dir)
	replace := func(name, text string) {
		fail.On(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for name, tc := range map[string]struct {
		damage func() error
		want   []string
	}{
		"missing":       {func() error { return os.Remove(v(2)) }, []string{missing(2)}},
		"two missing":   {func() error { return errors.Join(os.Remove(v(1)), os.Remove(v(3))) }, []string{missing(1), missing(3)}},
		"truncated":     {func() error { return os.Truncate(v(2), 5000) }, []string{volumeName(1, 2) + ": truncated: it has 5000 of "}},
		"a block short": {func() error { return os.Truncate(v(3), int64(len(good[volumeName(1, 3)])-512)) }, []string{volumeName(1, 3) + ": truncated"}},
		"empty":         {func() error { return os.Truncate(v(2), 0) }, []string{volumeName(1, 2) + ": truncated: it has 0 of "}},
		"extended":      {func() error { replace(volumeName(1, 2), good[volumeName(1, 2)]+"\x00"); return nil }, []string{volumeName(1, 2) + ": too long"}},
		// A volume that is present under another name is not missing.
		"in another's place": {func() error { return os.Rename(v(3), v(2)) }, []string{volumeName(1, 2) + ": it is not this volume, but volume 3 of 4 of sequence 1"}},
		"of another set": {
			func() error { replace(volumeName(1, 2), folder(t, other)[volumeName(1, 2)]); return nil },
			[]string{volumeName(1, 2) + ": it is not this volume, but volume 2 of 4 of sequence 1 with the plan"},
		},
		"another file": {func() error { replace(volumeName(1, 2), strings.Repeat("x", 9000)); return nil }, []string{volumeName(1, 2) + ": it does not begin with the label of this volume"}},
		"a folder":     {func() error { return errors.Join(os.Remove(v(2)), os.Mkdir(v(2), 0o755)) }, []string{"not a regular file"}},
		"a link": {func() error {
			return errors.Join(os.Remove(v(2)), os.Symlink(filepath.Join(other, volumeName(1, 2)), v(2)))
		}, []string{"not a regular file"}},
		"set manifest": {func() error { replace(setName(1), folder(t, other)[setName(1)]); return nil }, []string{setName(1) + ": its digest is"}},
		"no sum":       {func() error { return os.Remove(filepath.Join(dir, sumName(1))) }, []string{sumName(1) + ": missing"}},
		"renamed set": {
			func() error {
				replace(setName(2), good[setName(1)])
				replace(sumName(2), strings.ReplaceAll(good[sumName(1)], setName(1), setName(2)))
				return nil
			},
			[]string{setName(2) + ": it is the set manifest gantry-000001.json"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			fail.On(t, tc.damage())
			err := inspect(t, dir)
			var damage *DamageError
			if !errors.As(err, &damage) || len(damage.Damage) != len(tc.want) {
				t.Fatalf("%v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %s", err, want)
				}
			}
			fail.On(t, errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)))
			for name, text := range good {
				replace(name, text)
			}
		})
	}
	fail.On(t, inspect(t, dir))
}
