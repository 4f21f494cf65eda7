package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestDeltaKilled kills an import at the first bytes of the blob that is made from a delta. The next run does it.
func TestDeltaKilled(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	w.imported("disk1")
	second := w.publish(2)
	w.written("disk2")
	ctx, kill := context.WithCancel(t.Context()) // which ends the process with SIGKILL
	defer kill()
	cmd := w.process(ctx, append(w.from("disk2"), "--workspace", w.path("inside"))...)
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Nth: 1, Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		_, _ = io.CopyN(io.Discard, r.Body, 100)
		kills(kill)(rw, r, next)
	}})
	if err := cmd.Run(); err == nil {
		t.Fatal("the run was not killed")
	}
	w.mirror.Script()
	left, err := filepath.Glob(w.path("inside") + "/cache/deltas/gantry-*")
	if err != nil || len(left) > 0 {
		t.Errorf("the killed run left %v, %v", left, err)
	}
	w.imported("disk2")
	w.has(second)
}

// TestExtractDeltasWithTar extracts an archive with deltas as someone who has no Gantry.
func TestExtractDeltasWithTar(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip("there is no tar")
	}
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	w.publish(2)
	r := w.written("disk2")
	w.mkdir("plain")
	for _, f := range r.Files {
		if strings.HasSuffix(f.Name, ".tar") {
			if out, err := exec.CommandContext(t.Context(), "tar", "-xf", w.path("disk2/"+f.Name), "-C", w.path("plain")).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	sums := exec.CommandContext(t.Context(), "sha256sum", "-c", "SHA256SUMS")
	sums.Dir = w.path("plain")
	out, err := sums.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("1 listed file could not be read")) || !strings.Contains(w.read("plain/gantry/deltas.txt"), "gantry archive extract") {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
}

// TestServeDeltas serves an archive with deltas: with the disk before it, and without.
func TestServeDeltas(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	second := w.publish(2)
	w.written("disk2")
	s := serveDisk(w.fixture, fileScheme+w.path("disk2"), fileScheme+w.path("disk1"))
	reader := &rawReader{url: "http://" + s.Address, read: map[string]*rawManifest{}}
	for _, m := range reader.tree(t, "org/app", second) {
		for _, b := range m.Layers {
			if status, _, body := rawRequest(t, http.MethodGet, "http://"+s.Address+"/v2/org/app/blobs/"+b.Digest); status != http.StatusOK || int64(len(body)) != b.Size {
				t.Errorf("it serves %s with %d and %d bytes", b.Digest, status, len(body))
			}
		}
	}
	w.refuseLook(exitError, []string{"name the folders of the archives"}, "serve", fileScheme+w.path("disk2"), "--listen", "127.0.0.1:0")
}
