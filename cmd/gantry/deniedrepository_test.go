package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestRepositoryIsDenied checks that a mirror that denies access to one repository gets everything
// else, and that the failure is listed. If the mirror denies access to all repositories, the run
// ends.
func TestRepositoryIsDenied(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc := w.path("imageset.yaml")
	for _, status := range []int{http.StatusForbidden, http.StatusUnauthorized} {
		w.mirror.Script(registrytest.Rule{Method: http.MethodPost, Path: "/blobs/uploads/", Action: registrytest.Status(status)})
		w.refuse(exitUnauthorized, []string{w.mirror.Host}, "mirror", "-c", isc, w.docker(""))
	}
	w.mirror.Script(registrytest.Rule{Method: http.MethodPost, Path: "/lantern/store/blobs/uploads/", Action: registrytest.Status(http.StatusForbidden)})
	o := w.gantry("mirror", "-c", isc, w.docker(""))
	if o.code != exitPartial || !strings.Contains(o.stderr, "lantern/store") || !strings.Contains(o.stderr, "403") {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	w.mirror.Script()
	w.must("mirror", "-c", isc, w.docker(""))
	w.must("verify", "-c", isc, w.docker(""))
}
