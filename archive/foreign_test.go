package archive

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// TestForeignArchive checks that an archive of oc mirror is called what it is.
func TestForeignArchive(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mirror_000001.tar", "mirror_seq1_000000.tar"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir)
		if err == nil || !strings.Contains(err.Error(), name+" is of an archive of oc mirror") || !strings.Contains(advice.Hint(err), "same configuration") {
			t.Errorf("with %s: %v", name, err)
		}
	}
}
