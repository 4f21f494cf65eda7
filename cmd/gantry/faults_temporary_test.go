package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestMirrorWithTemporaryFaults mirrors while both registries have all kinds of temporary faults,
// and checks that the result is the same as without faults.
func TestMirrorWithTemporaryFaults(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, rt.Options{})
	isc := w.path("imageset.yaml")
	w.must("mirror", "-c", isc, w.docker("/calm"))
	calm := w.verify("calm", acme, 4)

	manifests, blobs, uploads := "/manifests/", "/blobs/sha256", "/blobs/uploads/"
	w.source.Script(
		rt.Rule{Method: http.MethodGet, Path: manifests, Nth: 2, Action: rt.Status(http.StatusServiceUnavailable)},
		rt.Rule{Method: http.MethodGet, Path: manifests, Nth: 5, Action: rt.Reset()},
		rt.Rule{Method: http.MethodGet, Path: manifests, Nth: 7, Action: rt.Cut(40)},
		rt.Rule{Method: http.MethodGet, Path: blobs, Nth: 1, Action: rt.Status(http.StatusTooManyRequests, "Retry-After", "0")},
		rt.Rule{Method: http.MethodGet, Path: blobs, Nth: 3, Action: rt.Cut(1000)},
		rt.Rule{Method: http.MethodGet, Path: blobs, Nth: 6, Action: rt.Reset()},
		rt.Rule{Method: http.MethodGet, Path: blobs, Nth: 9, Action: rt.Status(http.StatusBadGateway)},
	)
	w.mirror.Script(
		rt.Rule{Method: http.MethodHead, Path: manifests, Nth: 3, Action: rt.Status(http.StatusInternalServerError)},
		rt.Rule{Method: http.MethodPost, Path: uploads, Nth: 4, Action: rt.Status(http.StatusTooManyRequests)},
		rt.Rule{Method: http.MethodPost, Path: uploads, Nth: 8, Action: rt.Reset()},
		rt.Rule{Method: http.MethodPut, Path: uploads, Nth: 5, Action: rt.Status(http.StatusServiceUnavailable)},
		rt.Rule{Method: http.MethodPut, Path: uploads, Nth: 9, Action: rt.Reset()},
		rt.Rule{Method: http.MethodPut, Path: manifests, Nth: 3, Action: rt.Reset()},
		rt.Rule{Method: http.MethodPut, Path: manifests, Nth: 6, Action: rt.Status(http.StatusGatewayTimeout)},
	)
	disk := "file://" + w.path("disk")
	w.must("mirror", "-c", isc, w.docker("/stormy"), "--workspace", w.path("stormy"), "--retry-delay", "1ms")
	w.must("mirror", "-c", isc, disk, "--workspace", w.path("stormy2"), "--retry-delay", "1ms")
	w.must("mirror", "--from", disk, w.docker("/carried"), "--retry-delay", "1ms")
	w.source.Script()
	w.mirror.Script()
	for _, prefix := range []string{"stormy", "carried"} {
		if got := w.verify(prefix, acme, 4); got.Catalog != calm.Catalog || got.Bytes() != calm.Bytes() {
			t.Errorf("%s: %+v, want the result without faults: %+v", prefix, got.Catalog, calm.Catalog)
		}
		w.verify(prefix, community, 5)
	}
}

// TestSourceWithWrongBytes checks that wrong bytes are never stored under a digest.
func TestSourceWithWrongBytes(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, rt.Options{})
	isc, disk := w.path("imageset.yaml"), "file://"+w.path("disk")
	w.source.Script(rt.Rule{Method: http.MethodGet, Path: "/lantern/store/blobs/", Action: rt.WrongBytes()})
	for _, to := range []string{w.docker("/direct"), disk} {
		o := w.gantry("mirror", "-c", isc, to, "--retry-delay", "1ms")
		if o.code != exitPartial || !strings.Contains(o.stderr, "lantern/store") || !strings.Contains(o.stderr, "sha256:") {
			t.Errorf("mirror to %s ended with %d, want %d and the blob named:\n%s", to, o.code, exitPartial, o.stderr)
		}
	}
	if _, err := w.mirror.Client().Pull(t.Context(), "direct/"+acme, "v4.20"); err == nil {
		t.Error("the catalog that names the image was published")
	}
	// An incomplete archive is not finished, and the run prints this.
	o := w.gantry("mirror", "-c", isc, disk, "--retry-delay", "1ms")
	if sets, _ := filepath.Glob(w.path("disk/gantry-*")); len(sets) > 0 || !strings.Contains(o.stdout, "Not finished") || strings.Contains(o.stdout, "Mirrored") {
		t.Errorf("an archive without a blob: %v\n%s", sets, o.stdout)
	}
	w.verify("direct", community, 5)
	w.source.Script()
	w.must("mirror", "-c", isc, w.docker("/direct"))
	w.verify("direct", acme, 4)
	w.must("mirror", "-c", isc, disk)
}

// TestMirrorDuringRestart mirrors while the mirror's registry is killed and started again.
func TestMirrorDuringRestart(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, rt.Options{Alone: true})
	w.source.Script(rt.Rule{Method: http.MethodGet, Path: "/blobs/", Nth: 20, Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		w.mirror.Restart()
		next.ServeHTTP(rw, r)
	}})
	w.must("mirror", "-c", w.path("imageset.yaml"), w.docker(""))
	w.source.Script()
	w.verify("", acme, 4)
}
