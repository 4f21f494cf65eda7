package mirrortest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Program builds the program of a room's tests, without the race detector, and returns its file.
func Program(t *testing.T) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "gantry")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", to, "../../cmd/gantry")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}
