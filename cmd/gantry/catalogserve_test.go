package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// serveTime limits how long a server may take to start and to stop, so that a test does not hang.
const serveTime = 30 * time.Second

// A served is a running gantry catalog serve, or serve.
type served struct {
	t    *testing.T
	cmd  *exec.Cmd
	addr string
	said chan string // receives all of stderr when the program ends
}

// get sends a request to the HTTP API and checks the status of the response.
func (s *served) get(path string, status int) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.addr+path, http.NoBody)
	fail.On(s.t, err)
	answer, err := http.DefaultClient.Do(request)
	fail.On(s.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		s.t.Errorf("GET %s: %s, want %d: %v\n%s", path, answer.Status, status, err, text)
	}
	return string(text)
}

// end stops the program with a signal. It must succeed and print nothing.
func (s *served) end(signal os.Signal) {
	s.t.Helper()
	fail.On(s.t, s.cmd.Process.Signal(signal))
	said := <-s.said
	if err := s.cmd.Wait(); err != nil || said != "" {
		s.t.Errorf("after %v it ended with %v and printed %q", signal, err, said)
	}
}

// TestCatalogServe reads the address from stdout, and stops the server with a signal while a client keeps its connection.
// Catalogs that cannot be served and wrong addresses are refused. Package authoring tests what is served.
func TestCatalogServe(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	w.write("catalog.yaml", "schema: x\n")
	ctx, stop := context.WithTimeout(t.Context(), serveTime)
	defer stop()
	cmd := w.process(ctx, "catalog", "serve", w.path("catalog.yaml"), "--listen", "127.0.0.1:0", "--name", "mine", "--output", "json")
	stdout, err := cmd.StdoutPipe()
	fail.On(t, err)
	fail.On(t, cmd.Start())
	const path = "/catalogs/mine/api/v1/all"
	var at authoring.ServingCatalog
	if err := json.NewDecoder(stdout).Decode(&at); err != nil || at.URL != "http://"+at.Address+path {
		t.Fatalf("printed %+v, %v", at, err)
	}
	s := &served{t: t, cmd: cmd, addr: at.Address, said: make(chan string, 1)}
	if got := s.get(path, http.StatusOK); got != "{\"schema\":\"x\"}\n" {
		t.Errorf("served %q", got)
	}
	w.refuse(exitUsage, []string{"--listen", at.Address, "in use"}, "catalog", "serve", w.path("catalog.yaml"), "--listen", at.Address)
	w.refuse(exitUsage, []string{"Mine"}, "catalog", "serve", w.path("catalog.yaml"), "--listen", "127.0.0.1:0", "--name", "Mine")
	w.refuse(exitUsage, []string{"no such file"}, "catalog", "serve", w.path("absent.yaml"))
	s.said <- "" // stderr is not read
	s.end(syscall.SIGTERM)
}
