package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestLostLayer deletes a layer from the storage of the mirror: verify --blobs reports it, and mirror
// --check-blobs copies it again.
func TestLostLayer(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc := w.path("imageset.yaml")
	w.must("mirror", "-c", isc, w.docker(""))
	if o := w.must("verify", "-c", isc, "--blobs", w.docker("")); !strings.Contains(o.stdout, ", with every blob; the blobs were not read (--blobs=read).") || !strings.Contains(o.stderr, " blobs at ") {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
	w.mirror.Script(registrytest.Rule{Method: http.MethodHead, Path: "/lantern/store/blobs/", Action: registrytest.Status(http.StatusNotFound)})
	w.must("verify", "-c", isc, w.docker(""))
	w.must("mirror", "-c", isc, w.docker(""))
	o := w.gantry("verify", "-c", isc, "--blobs", w.docker(""))
	if o.code != exitMismatch || !strings.Contains(o.stdout, "lantern/store") || !strings.Contains(o.stdout, "missing") || !strings.Contains(o.stderr, "mirror again with --blobs=check") {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := w.must("mirror", "-c", isc, "--check-blobs", "--dry-run", w.docker("")); strings.Contains(o.stdout, "Nothing to copy") {
		t.Errorf("a dry run:\n%s", o.stdout)
	}
	w.mirror.ResetLog()
	// The registry does not list the blob after it was sent again either.
	w.refuse(exitPartial, []string{" and kept its own copy, which is missing", "/data), restart the registry, and run again with --blobs=check"}, "mirror", "-c", isc, "--check-blobs", w.docker(""))
	brought := 0
	for _, r := range w.mirror.Log() {
		if r.Method == http.MethodPost && strings.Contains(r.Path, "/blobs/uploads") {
			if strings.Contains(r.Path, "image-sets/") {
				continue // the record of the run
			}
			brought++
			if !strings.Contains(r.Path, "/lantern/store/") {
				t.Errorf("copied to %s", r.Path)
			}
		}
	}
	if brought == 0 {
		t.Error("no blob was copied")
	}
	w.mirror.Script()
	w.must("verify", "-c", isc, "--read-blobs", w.docker(""))
	w.mirror.Script(registrytest.Rule{Method: http.MethodGet, Path: "/lantern/store/blobs/", Action: registrytest.WrongBytes()})
	w.refuse(exitMismatch, []string{"mirror again with --blobs=read"}, "verify", "-c", isc, "--read-blobs", w.docker(""))
	w.refuse(exitPartial, []string{"is damaged: its content has the digest"}, "mirror", "-c", isc, "--read-blobs", w.docker(""))
	w.refuse(exitUsage, []string{"--blobs=read is for docker://"}, "mirror", "-c", isc, "--read-blobs", "file://"+w.path("disk"))
	w.refuse(exitUsage, []string{"--blobs=read is for docker://"}, "verify", "--read-blobs", "file://"+w.path("disk"))
	w.refuse(exitUsage, []string{"--blobs=check is for docker://"}, "mirror", "-c", isc, "--check-blobs", "file://"+w.path("disk"))
	w.refuse(exitUsage, []string{"--blobs is for docker://"}, "verify", "--blobs", "file://"+w.path("disk"))
}
