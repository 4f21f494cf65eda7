package archive

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFiveHundredFlips flips 500 random bits in the files of an archive and checks that each is
// found, in the file that was changed.
func TestFiveHundredFlips(t *testing.T) {
	s, dir := newSample(1, 9000, 3000, 1, 0, 700, 12000, 511), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 16 << 10})
	files := folder(t, dir)
	names := names(t, dir)
	var volumes []string
	bits := map[string]int64{}
	for _, name := range names {
		bits[name] = int64(len(files[name])) * 8
		if strings.HasSuffix(name, ".tar") {
			volumes = append(volumes, name)
		}
	}
	if len(volumes) < 2 || len(names) != len(volumes)+2 {
		t.Fatalf("the archive has %v", names)
	}
	random := rand.New(rand.NewPCG(5, 500)) // the same bits each time
	found, flips := 0, sparsely(500, 100)
	for i := range flips {
		// Most flips are spread over the files by size, but small files get some too.
		name := volumes[random.IntN(len(volumes))]
		switch i % 5 {
		case 0:
			name = setName(1)
		case 1:
			name = sumName(1)
		}
		bit := random.Int64N(bits[name])
		path := filepath.Join(dir, name)
		undo := alter(t, path, flip(bit))
		a, err := Inspect(dir)
		if err == nil {
			err = errors.Join(a.Verify(t.Context(), nil), a.Close())
		}
		undo()
		var damage *DamageError
		switch {
		case !errors.As(err, &damage):
			t.Errorf("%s, bit %d: %v", name, bit, err)
			continue
		case len(damage.Damage) != 1:
			t.Errorf("%s, bit %d: one bit is %d damages: %v", name, bit, len(damage.Damage), err)
		case damage.Damage[0].File != name:
			t.Errorf("%s, bit %d: it is said to be in %v", name, bit, damage)
		}
		found++
	}
	if found != flips {
		t.Errorf("%d of %d were found", found, flips)
	}
	if err := inspect(t, dir); err != nil {
		t.Errorf("the test broke the archive: %v", err)
	}
}

// TestTruncatedAtEveryBlock truncates a volume at each of its blocks and checks that the volume and
// all content lost in it are reported.
func TestTruncatedAtEveryBlock(t *testing.T) {
	s, dir := newSample(1, 3000, 0, 700, 1024), t.TempDir()
	s.write(t, dir, Options{})
	path := filepath.Join(dir, volumeName(1, 1))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	good, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	entries := good.set.Volumes[0].Entries
	for size := len(whole) - blockSize; size >= 0; size -= blockSize {
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		var damage *DamageError
		if _, err := Open(dir); !errors.As(err, &damage) || damage.Damage[0].File != volumeName(1, 1) || !strings.HasPrefix(damage.Damage[0].Problem, "truncated: it has ") {
			t.Fatalf("%d bytes: Open = %v", size, err)
		}
		a, err := Inspect(dir)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(a.Verify(t.Context(), nil), a.Close())
		if !errors.As(err, &damage) || len(damage.Damage) != 1 || damage.Recoverable() {
			t.Fatalf("%d bytes: Verify = %v", size, err)
		}
		for _, e := range entries {
			if e.Path == "" && slices.Contains(damage.Lost(), e.Digest) != (e.Offset+e.Size > int64(size)) {
				t.Errorf("%d bytes: %s at %d with %d bytes is said lost: %v", size, e.path(), e.Offset, e.Size, slices.Contains(damage.Lost(), e.Digest))
			}
		}
	}
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := inspect(t, dir); err != nil {
		t.Error(err)
	}
}

// sparsely returns the second number if tests are to be short, else the first.
func sparsely(all, few int) int {
	if testing.Short() {
		return few
	}
	return all
}
