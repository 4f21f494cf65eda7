//go:build unix

package remote

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestCertsRefusePipes checks that a pipe in a folder of certificates is an error at once.
func TestCertsRefusePipes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ca.crt", "client.cert"} {
		dir := t.TempDir()
		fail.On(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
		if _, err := readCerts(dir, true, nil); err == nil || !strings.Contains(err.Error(), name+": not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
