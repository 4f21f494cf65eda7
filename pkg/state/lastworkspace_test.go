package state

import (
	"os"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestLastWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/state"
	fail.Diff(t, "", LastWorkspace(dir, "docker://m"))
	for _, workspace := range []string{"/a", "/b"} {
		fail.On(t, SaveLastWorkspace(dir, "docker://m", workspace))
	}
	fail.Diff(t, "/b", LastWorkspace(dir, "docker://m"))
	fail.Diff(t, "", LastWorkspace(dir, "docker://n"))
	fail.On(t, os.WriteFile(lastWorkspaceFile(dir, "docker://m"), []byte("{"), 0o600))
	fail.Diff(t, "", LastWorkspace(dir, "docker://m"))
}
