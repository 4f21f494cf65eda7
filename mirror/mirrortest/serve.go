package mirrortest

import (
	"bufio"
	"io"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// ServeArchive starts a command like gantry archive serve, and returns a server that passes requests on to it. The command
// ends with the test, on TERM and with 0.
func ServeArchive(t *testing.T, cmd *exec.Cmd) *rt.Server {
	t.Helper()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second // on a slow machine
	out, err := cmd.StdoutPipe()
	fail.On(t, err)
	cmd.Stderr = cmd.Stdout
	fail.On(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Wait() // its exit status is checked
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("after TERM, serve ended with %d", code)
		}
	})
	address := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
	lines := bufio.NewScanner(out)
	found := ""
	for found == "" && lines.Scan() {
		found = address.FindString(lines.Text())
	}
	if found == "" {
		t.Fatal("serve prints no address")
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // ends with the process
	return rt.Serve(t, rt.Options{}, httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: found}))
}
