package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestDestinationRefusesAll checks that a mirror that accepts no content, because its storage is
// full or read-only, ends the run with one message that names the mirror. When the mirror accepts
// content again, the same command succeeds.
func TestDestinationRefusesAll(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc := w.path("imageset.yaml")
	for _, tc := range []struct {
		name  string
		rule  registrytest.Rule
		words []string
	}{
		{"full", registrytest.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Action: registrytest.Status(http.StatusInternalServerError)}, []string{"HTTP 500", "full"}},
		{"read-only", registrytest.Rule{Method: http.MethodPost, Path: "/blobs/uploads/", Action: registrytest.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED")}, []string{"HTTP 405", "read-only"}},
	} {
		w.mirror.Script(tc.rule)
		o := w.gantry("mirror", "-c", isc, "--retry-times", "2", "--retry-delay", "1ms", w.docker(""))
		if o.code != exitError || strings.Count(o.stderr, "\n") > 12 || strings.Contains(o.stderr, "the rest is consistent") {
			t.Errorf("%s: %d\n%s", tc.name, o.code, o.stderr)
		}
		for _, word := range append(tc.words, w.mirror.Host) {
			if !strings.Contains(o.stderr, word) {
				t.Errorf("%s: no %q in\n%s", tc.name, word, o.stderr)
			}
		}
	}
	w.mirror.Script()
	w.must("mirror", "-c", isc, w.docker(""))
	w.must("verify", "-c", isc, w.docker(""))
}
