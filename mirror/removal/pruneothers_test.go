package removal_test

import (
	"net/http"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/state/lease"
)

// TestPruneUnknownMirror checks that nothing is deleted while it is unknown what another mirror needs whose prefix contains
// this one, or while a run changes that mirror.
func TestPruneUnknownMirror(t *testing.T) {
	t.Parallel()
	s := prunable(t)
	announced := s.Mirror.Requests()["DELETE manifest"] // what the runs announced before they pushed
	records := func(status int, code string) {
		s.Mirror.Script(registrytest.Rule{Path: "/v2/gantry/image-sets/", Action: registrytest.Refuse(status, code)})
	}
	onlyMirror := func(o *removal.PruneOptions) { o.OnlyMirror = true }
	records(http.StatusForbidden, "DENIED")
	_, err := prunes(s, yes)
	mirrortest.Refused(t, err, advice.Unauthorized, "/gantry/image-sets cannot be read", "set Options.OnlyMirror")
	records(http.StatusBadRequest, "UNKNOWN")
	_, err = prunes(s, yes, onlyMirror)
	mirrortest.Refused(t, err, advice.Failure, "/gantry/image-sets", "nothing can be deleted")
	s.Mirror.Script()

	now := time.Now()
	running := lease.Record{ID: "x", Host: "elsewhere", Process: 12, Since: now, Renewed: now, Attempt: 1}
	push := func() {
		t.Helper()
		raw, err := running.Manifest()
		if err == nil {
			_, err = s.Mirror.Client().PushRaw(t.Context(), "gantry/lease", lease.TagCurrent, ocispec.MediaTypeImageManifest, raw, []byte("{}"))
		}
		fail.On(t, err)
	}
	push()
	_, err = prunes(s, yes)
	mirrortest.Refused(t, err, advice.Locked, "used by another run: process 12 on elsewhere")
	if n := s.Mirror.Requests()["DELETE manifest"] - announced; n != 0 {
		t.Errorf("%d deletions", n)
	}
	if r := pruned(s); r.Plan.Totals.Manifests == 0 {
		t.Errorf("%+v", r.Plan)
	}
	running.Released = true
	push()
	records(http.StatusForbidden, "DENIED")
	pruned(s, yes, onlyMirror)
	if s.Mirror.Requests()["DELETE manifest"] == announced {
		t.Error("nothing was deleted")
	}
}
