package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A layer that the mirror's storage lost is named by verify --blobs, and brought
// again by mirror --check-blobs.
func TestLostLayer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{})
	isc := w.path("imageset.yaml")
	w.must("mirror", "-c", isc, w.docker(""))
	if o := w.must("verify", "-c", isc, "--blobs", w.docker("")); !strings.Contains(o.stdout, ", with every blob.") || !strings.Contains(o.stderr, " blobs at ") {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
	w.mirror.Script(registrytest.Rule{Method: http.MethodHead, Path: "/lantern/store/blobs/", Action: registrytest.Status(http.StatusNotFound)})
	w.must("verify", "-c", isc, w.docker(""))
	w.must("mirror", "-c", isc, w.docker(""))
	o := w.gantry("verify", "-c", isc, "--blobs", w.docker(""))
	if o.code != exitMismatch || !strings.Contains(o.stdout, "lantern/store") || !strings.Contains(o.stdout, "not there") || !strings.Contains(o.stderr, "mirror again with --check-blobs") {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := w.must("mirror", "-c", isc, "--check-blobs", "--dry-run", w.docker("")); strings.Contains(o.stdout, "Nothing to copy") {
		t.Errorf("a dry run:\n%s", o.stdout)
	}
	w.mirror.ResetLog()
	if o := w.must("mirror", "-c", isc, "--check-blobs", w.docker("")); !strings.Contains(o.stdout, "copied") {
		t.Error(o.stdout)
	}
	brought := 0
	for _, r := range w.mirror.Log() {
		if r.Method == http.MethodPost && strings.Contains(r.Path, "/blobs/uploads") {
			brought++
			if !strings.Contains(r.Path, "/lantern/store/") {
				t.Errorf("brought to %s", r.Path)
			}
		}
	}
	if brought == 0 {
		t.Error("no blob was brought")
	}
	w.mirror.Script()
	w.must("verify", "-c", isc, "--blobs", w.docker(""))
	w.refuse(exitUsage, []string{"--check-blobs is for docker://"}, "mirror", "-c", isc, "--check-blobs", "file://"+w.path("disk"))
	w.refuse(exitUsage, []string{"--blobs is for docker://"}, "verify", "--blobs", "file://"+w.path("disk"))
}
