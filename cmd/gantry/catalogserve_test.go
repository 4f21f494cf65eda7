package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serveTime limits how long a server may take to start and to stop, so that a test does not hang.
const serveTime = 30 * time.Second

// A served is a running gantry catalog serve.
type served struct {
	t    *testing.T
	cmd  *exec.Cmd
	addr string
	said chan string // receives all of stderr when the program ends
}

var servedOn = regexp.MustCompile(`serving \S+ on (\S+), as (http://\S+); end with Ctrl-C`)

// startServe starts the program and waits until it prints its address.
func startServe(w *fixture, url string, args ...string) *served {
	t := w.t
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), serveTime)
	t.Cleanup(stop)
	s := &served{t: t, said: make(chan string, 1)}
	s.cmd = w.process(ctx, append([]string{"catalog", "serve", "--listen", "127.0.0.1:0"}, args...)...)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	line, _ := lines.ReadString('\n') // an incomplete line fails below
	m := servedOn.FindStringSubmatch(line)
	if m == nil || m[2] != "http://"+m[1]+url {
		rest, _ := io.ReadAll(lines)
		t.Fatalf("printed %s%s, want its address and %s", line, rest, url)
	}
	s.addr = m[1]
	go func() {
		rest, _ := io.ReadAll(lines)
		s.said <- string(rest)
	}()
	return s
}

// get sends a request to the HTTP API and checks the status of the response.
func (s *served) get(path string, status int) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.addr+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if answer.StatusCode != status {
		s.t.Errorf("GET %s: %s, want %d\n%s", path, answer.Status, status, text)
	}
	return string(text)
}

// end stops the program with a signal. It must succeed and print nothing.
func (s *served) end(signal os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
	said := <-s.said
	if err := s.cmd.Wait(); err != nil || said != "" {
		s.t.Errorf("after %v it ended with %v and printed %q", signal, err, said)
	}
}

// TestCatalogServeEnds stops the server with the other signal while a client keeps its connections.
// Catalogs that cannot be served and wrong addresses are refused.
func TestCatalogServeEnds(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	w.write("catalog.yaml", "schema: olm.package\nname: a\ndefaultChannel: x\n---\nschema: olm.channel\npackage: a\nname: x\nentries: [{name: a.v1}]\n---\n"+
		"schema: olm.bundle\npackage: a\nname: a.v1\nimage: quay.io/a/a:v1\nproperties: [{type: olm.package, value: {packageName: a, version: 1.0.0}}]\n")
	s := startServe(w, "/catalogs/mine/api/v1/all", w.path("catalog.yaml"), "--name", "mine", "--workspace", w.path("none"))
	s.get("/catalogs/mine/api/v1/all", http.StatusOK)

	w.refuse(exitUsage, []string{"--listen", s.addr, "in use"}, "catalog", "serve", w.path("catalog.yaml"), "--listen", s.addr)
	w.refuse(exitUsage, []string{"Mine"}, "catalog", "serve", w.path("catalog.yaml"), "--listen", "127.0.0.1:0", "--name", "Mine")
	w.refuse(exitUsage, []string{"no such file"}, "catalog", "serve", w.path("absent.yaml"))
	s.end(syscall.SIGTERM)
}

// TestCatalogServeAddress reads the address from stdout if a free port was selected.
func TestCatalogServeAddress(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	w.write("catalog.yaml", "schema: x\n")
	ctx, stop := context.WithTimeout(t.Context(), serveTime)
	defer stop()
	cmd := w.process(ctx, "catalog", "serve", w.path("catalog.yaml"), "--listen", "127.0.0.1:0", "--output", "json")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var at struct {
		Version      int
		Address, URL string
	}
	if err := json.NewDecoder(stdout).Decode(&at); err != nil || at.Version != 1 {
		t.Fatalf("printed %+v, %v", at, err)
	}
	s := &served{t: t, addr: at.Address}
	if got := s.get(strings.TrimPrefix(at.URL, "http://"+at.Address), http.StatusOK); got != "{\"schema\":\"x\"}\n" {
		t.Errorf("served %q", got)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
}
