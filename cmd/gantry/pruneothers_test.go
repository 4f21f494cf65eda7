package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/state/lease"
)

// TestPruneUnknownMirror checks that nothing is deleted while it is unknown what another mirror needs whose
// prefix contains this one, or while a run changes that mirror.
func TestPruneUnknownMirror(t *testing.T) {
	t.Parallel()
	w := prunable(t, registrytest.Options{})
	announced := w.mirror.Requests()["DELETE manifest"] // what the runs announced before they pushed
	records := func(status int, code string) {
		w.mirror.Script(registrytest.Rule{Path: "/v2/gantry/image-sets/", Action: registrytest.Refuse(status, code)})
	}
	records(http.StatusForbidden, "DENIED")
	w.refuse(exitUnauthorized, []string{"/gantry/image-sets cannot be read", "set --only-mirror"}, "prune", "--yes", w.docker("/site"))
	records(http.StatusBadRequest, "UNKNOWN")
	w.refuse(exitError, []string{"/gantry/image-sets", "nothing can be deleted"}, "prune", "--yes", "--only-mirror", w.docker("/site"))
	w.mirror.Script()

	now := time.Now()
	running := lease.Record{ID: "x", Host: "elsewhere", Process: 12, Since: now, Renewed: now, Attempt: 1}
	raw, err := running.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.mirror.Client().PushRaw(t.Context(), "gantry/lease", lease.TagCurrent, ocispec.MediaTypeImageManifest, raw, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	w.refuse(exitLocked, []string{"used by another run: process 12 on elsewhere"}, "prune", "--yes", w.docker("/site"))
	if n := w.mirror.Requests()["DELETE manifest"] - announced; n != 0 {
		t.Errorf("%d deletions", n)
	}
	if o := w.must("prune", w.docker("/site")); !strings.Contains(o.stdout, "tidewater") {
		t.Errorf("%s", o.stdout)
	}
	running.Released = true
	if raw, err = running.Manifest(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.mirror.Client().PushRaw(t.Context(), "gantry/lease", lease.TagCurrent, ocispec.MediaTypeImageManifest, raw, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	records(http.StatusForbidden, "DENIED")
	w.must("prune", "--yes", "--only-mirror", w.docker("/site"))
	if w.mirror.Requests()["DELETE manifest"] == announced {
		t.Error("nothing was deleted")
	}
}
