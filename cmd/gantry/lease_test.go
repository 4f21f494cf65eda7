package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestLease checks that a second process, with another workspace, does not mirror to a registry while
// the first one does; that a killed run blocks no other run of this machine.
func TestLease(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	reached := make(chan struct{})
	resume := make(chan struct{})
	signal := once(func() { close(reached) })
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Nth: 3, Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		signal(rw, r, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			select {
			case <-resume:
			case <-r.Context().Done():
			}
			next.ServeHTTP(rw, r)
		}))
	}})
	line := func(workspace string) []string {
		return []string{"mirror", "-c", w.path("imageset.yaml"), w.docker("/site"), "--workspace", w.path(workspace)}
	}
	start := func(workspace string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
		cmd, stderr = w.process(t.Context(), line(workspace)...), &bytes.Buffer{}
		cmd.Stderr = stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, stderr
	}
	first, stderr := start("one")
	select {
	case <-reached:
	case <-t.Context().Done():
		t.Fatal("the first run did not begin to copy")
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	w.refuse(exitLocked, []string{"docker://" + w.mirror.Host + "/site is used by another run: process ", " on " + host + " since ", "wait for that run to end"}, line("two")...)
	w.must("mirror", "-c", w.path("imageset.yaml"), w.docker("/elsewhere"), "--workspace", w.path("two")) // another prefix
	close(resume)
	if err := first.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	w.mirror.Script()
	if o := w.must(line("two")...); strings.Contains(o.stderr, "did not end properly") {
		t.Errorf("the lease was not released:\n%s", o.stderr)
	}

	killed, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/site/gantry-lease/manifests/current", Nth: 1, Action: withoutResponse(cancel)})
	if err := w.process(killed, line("three")...).Run(); err == nil {
		t.Fatal("the run was not killed")
	}
	w.mirror.Script()
	if o := w.must(line("two")...); !strings.Contains(o.stderr, "did not end properly (process ") {
		t.Errorf("no message about the run that was killed:\n%s", o.stderr)
	}
	w.verify("site", acme, 4)
}
