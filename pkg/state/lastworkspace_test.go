package state

import (
	"os"
	"testing"
)

func TestLastWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/state"
	if got := LastWorkspace(dir, "docker://m"); got != "" {
		t.Errorf("before any run: %q", got)
	}
	for _, workspace := range []string{"/a", "/b"} {
		if err := SaveLastWorkspace(dir, "docker://m", workspace); err != nil {
			t.Fatal(err)
		}
	}
	if got := LastWorkspace(dir, "docker://m"); got != "/b" {
		t.Errorf("after two runs: %q, want /b", got)
	}
	if got := LastWorkspace(dir, "docker://n"); got != "" {
		t.Errorf("of another destination: %q", got)
	}
	if err := os.WriteFile(lastWorkspaceFile(dir, "docker://m"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := LastWorkspace(dir, "docker://m"); got != "" {
		t.Errorf("of a damaged file: %q", got)
	}
}
