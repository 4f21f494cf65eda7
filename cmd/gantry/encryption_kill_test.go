package main

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestKilledEncrypting kills the real program while it encrypts content, and runs it again. The
// second run continues the archive, and the archive can be read.
func TestKilledEncrypting(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	identity, recipient := w.ageKey("site", "")
	disk := fileScheme + w.path("disk")
	args := []string{"mirror", "-c", w.path("imageset.yaml"), disk, "--encrypt-to", recipient, "--workspace", w.path("workspace")}
	const nth = 20
	w.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/blobs/sha256", Nth: nth, Action: registrytest.Stall(10)})
	cmd := w.process(t.Context(), args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for w.source.Requests()["GET blob"] <= nth {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the run did not read enough blobs")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if final, _ := filepath.Glob(w.path("disk/gantry-*")); len(final) > 0 {
		t.Fatalf("an unfinished archive has final names: %v", final)
	}
	if partial, _ := filepath.Glob(w.path("disk/.gantry-partial/journal")); len(partial) != 1 {
		t.Fatal("there is no unfinished archive")
	}
	w.source.Script()
	w.must(args...)
	w.must("verify", disk)
	w.must("verify", disk, "--identity", identity)
	w.must("mirror", "--from", disk, w.docker("/site"), "--identity", identity)
	w.verify("site", acme, 4)
}
