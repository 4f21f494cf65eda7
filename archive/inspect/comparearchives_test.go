package inspect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestCompareArchiveWithoutContent compares the archive of a run that had nothing to carry. It leaves its plan out, which
// the archive before it has.
func TestCompareArchiveWithoutContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	disk := func(name string) string { return env.ArchiveScheme + path(name) }
	write := func(name, content string) {
		t.Helper()
		text := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  files:\n  - path: " + path("tool") + "\n"
		fail.On(t, os.WriteFile(path("tool"), []byte(content), 0o600))
		fail.On(t, os.WriteFile(path("isc.yaml"), []byte(text), 0o600))
		_, err := mirroring.Run(t.Context(), mirroring.Options{Selection: selection.Selection{Config: path("isc.yaml")}, Destination: disk(name), Workspace: path("ws")})
		fail.On(t, err)
	}
	write("first", "one")
	write("empty", "one")
	write("third", "two")
	compare := func(old, now string) (*ArchiveDifference, error) {
		return CompareArchives(t.Context(), CompareArchivesOptions{Folders: []string{disk(old), disk(now)}})
	}
	for _, pair := range [][2]string{{"first", "empty"}, {"empty", "first"}} {
		d, err := compare(pair[0], pair[1])
		if err != nil || !d.Empty() {
			t.Errorf("%v: %v, %v", pair, d, err)
		}
	}
	if d, err := compare("first", "third"); err != nil || d.Empty() {
		t.Errorf("the third: %v, %v", d, err)
	}
	_, err := compare("empty", "third")
	if advice.KindOf(err) != advice.Input || !strings.Contains(advice.Hint(err), "gantry-000001 in its place") {
		t.Errorf("without the plan: %v; %s", err, advice.Hint(err))
	}
}
