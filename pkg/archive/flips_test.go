package archive

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestTruncatedAtEveryBlock truncates a volume at each of its blocks and checks that the volume and
// all content lost in it are reported.
func TestTruncatedAtEveryBlock(t *testing.T) {
	s, dir := newSample(1, 3000, 0, 700, 1024), t.TempDir()
	s.write(t, dir, Options{})
	path := filepath.Join(dir, volumeName(1, 1))
	whole, err := os.ReadFile(path)
	fail.On(t, err)
	good, err := Open(dir)
	fail.On(t, err)
	defer good.Close()
	entries := good.set.Volumes[0].Entries
	for size := len(whole) - blockSize; size >= 0; size -= blockSize {
		fail.On(t, os.Truncate(path, int64(size)))
		var damage *DamageError
		if _, err := Open(dir); !errors.As(err, &damage) || damage.Damage[0].File != volumeName(1, 1) || !strings.HasPrefix(damage.Damage[0].Problem, "truncated: it has ") {
			t.Fatalf("%d bytes: Open = %v", size, err)
		}
		a, err := Inspect(dir)
		fail.On(t, err)
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
	fail.On(t, os.WriteFile(path, whole, 0o644))
	fail.On(t, inspect(t, dir))
}

// sparsely returns the second number if tests are to be short, else the first.
func sparsely(all, few int) int {
	if testing.Short() {
		return few
	}
	return all
}
