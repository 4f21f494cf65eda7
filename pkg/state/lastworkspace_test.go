package state

import (
	"os"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestLastWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/state"
	if got := LastWorkspace(dir, "docker://m"); got != "" {
		t.Errorf("before any run: %q", got)
	}
	for _, workspace := range []string{"/a", "/b"} {
		fail.On(t, SaveLastWorkspace(dir, "docker://m", workspace))
	}
	if got := LastWorkspace(dir, "docker://m"); got != "/b" {
		t.Errorf("after two runs: %q, want /b", got)
	}
	if got := LastWorkspace(dir, "docker://n"); got != "" {
		t.Errorf("of another destination: %q", got)
	}
	fail.On(t, os.WriteFile(lastWorkspaceFile(dir, "docker://m"), []byte("{"), 0o600))
	if got := LastWorkspace(dir, "docker://m"); got != "" {
		t.Errorf("of a damaged file: %q", got)
	}
}
