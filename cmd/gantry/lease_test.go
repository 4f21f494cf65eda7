package main

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestLease checks the exit status of a run to a registry that another process mirrors to, and that a killed run blocks no
// other run of this machine. Package site tests the lease.
func TestLease(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	line := func(workspace string) []string {
		return []string{"mirror", "-c", w.path("imageset.yaml"), w.docker("/site"), "--workspace", w.path(workspace)}
	}
	killed, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Nth: 3, Action: withoutResponse(func() {
		host, err := os.Hostname()
		if err != nil {
			t.Error(err)
		}
		w.refuse(exitLocked, []string{"docker://" + w.mirror.Host + "/site is used by another run: process ", " on " + host + " since ", "wait for that run to end"}, line("two")...)
		cancel()
	})})
	if err := w.process(killed, line("one")...).Run(); err == nil {
		t.Fatal("the run was not killed")
	}
	w.mirror.Script()
	w.says(w.must(line("two")...).stderr, "did not end properly (process ")
	w.verify("site", acme, 4)
}
