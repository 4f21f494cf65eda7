package registrytest

import (
	"os"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestStartBare checks that content that is pushed to a bare registry can be read, is logged, and
// is stored in the given folder.
func TestStartBare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := StartBare(t.Context(), dir)
	fail.On(t, err)
	defer b.Close()
	img, err := Image("bare")
	fail.On(t, err)
	c := NewClient(b.Host)
	_, err = c.Push(t.Context(), "a/b", "v1", img)
	fail.On(t, err)
	_, err = c.Pull(t.Context(), "a/b", "v1")
	fail.On(t, err)
	b.Close() // so that the log is complete
	log, err := os.ReadFile(b.LogFile)
	fail.On(t, err)
	if n := strings.Count(string(log), `"PUT /v2/a/b/manifests/v1 HTTP/1.1" 201 `); n != 1 {
		t.Errorf("%d log lines about the pushed tag, want 1:\n%s", n, log)
	}
	_, err = os.Stat(dir + "/storage/docker/registry/v2/repositories/a/b")
	fail.On(t, err)
}
