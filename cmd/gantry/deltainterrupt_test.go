package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestDeltaInterrupted interrupts a run while deltas are made, and one while a blob that was made from a delta is sent.
// The same commands continue.
func TestDeltaInterrupted(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	first := w.publish(1)
	w.written("disk1")
	w.imported("disk1")
	second := w.publish(2)
	interrupted := func(server *registrytest.Server, rule registrytest.Rule, args ...string) {
		t.Helper()
		interrupt, run := interruptible(w.process(t.Context(), args...))
		rule.Action = func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
			if r.Method == http.MethodPut {
				_, _ = io.CopyN(io.Discard, r.Body, 100)
			}
			interrupt()
			<-r.Context().Done()
		}
		server.Script(rule)
		_ = run()
		server.Script()
		left, err := filepath.Glob(w.path("*") + "/cache/deltas/gantry-*")
		if err != nil || len(left) > 0 {
			t.Errorf("the run left %v, %v", left, err)
		}
	}
	write := []string{"mirror", "-c", w.isc, fileScheme + w.path("disk2"), "--workspace", w.path("outside")}
	interrupted(w.source, registrytest.Rule{Method: http.MethodGet, Path: "/blobs/" + w.layer(first), Nth: 1}, write...)
	if found, _ := filepath.Glob(w.path("disk2") + "/gantry-*.json"); len(found) > 0 {
		t.Errorf("the interrupted run wrote %v", found)
	}
	if r := w.written("disk2"); r.Sequence != 2 || r.Deltas == nil || r.Deltas.Blobs != 1 {
		t.Errorf("%+v", r)
	}
	interrupted(w.mirror, registrytest.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Nth: 1}, append(w.from("disk2"), "--workspace", w.path("inside"))...)
	if left, _ := os.ReadDir(w.path("inside/requests")); len(left) > 0 {
		t.Errorf("the interrupted import wrote %v", left)
	}
	w.imported("disk2")
	w.has(second)
}

// TestServeDeltasLeaving serves an archive with deltas to clients that go away, and then to one that stays.
func TestServeDeltasLeaving(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	second := w.publish(2)
	w.written("disk2")
	s := serveDisk(w.fixture, fileScheme+w.path("disk2"), fileScheme+w.path("disk1"))
	url := "http://" + s.Address + "/v2/org/app/blobs/" + w.layer(second)
	for range 6 {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.CopyN(io.Discard, resp.Body, 100)
		_ = resp.Body.Close() // the client goes away
	}
	status, header, body := rawRequest(t, http.MethodGet, url)
	if status != http.StatusOK || len(body) < 1<<20 {
		t.Errorf("%d, %v, %d bytes", status, header, len(body))
	}
	s.end(syscall.SIGINT)
}
