package admission

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestSameConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) string {
		fail.On(t, os.WriteFile(path(name), []byte(text), 0o600))
		return path(name)
	}
	a, copied, other, larger := write("a.yaml", "one"), write("copy.yaml", "one"), write("other.yaml", "two"), write("larger.yaml", "three")
	fail.On(t, os.Symlink(other, path("link.yaml")))
	for _, tc := range []struct {
		before, now string
		same        bool
	}{
		{a, a, true},
		{path("gone.yaml"), a, true},
		{path("a.yaml/gone.yaml"), a, true},
		{dir, a, true},
		{a, copied, true},
		{a, other, false},
		{a, larger, false},
		{other, path("link.yaml"), true},
		{a, path("link.yaml"), false},
	} {
		if same, err := sameConfiguration(tc.before, tc.now); same != tc.same || err != nil {
			t.Errorf("%s and %s: %v, %v", tc.before, tc.now, same, err)
		}
	}
}
