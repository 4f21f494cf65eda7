package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release/query"
	"github.com/gantry-mirror/gantry/plan/signing"
)

// TestListSizes checks that a release has the size of its plan, and that a payload that cannot
// be read only leaves out the size.
func TestListSizes(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	cfg := w.config("imageset.yaml", "  platform:\n    channels: [{name: stable-4.20, minVersion: 4.19.2, maxVersion: 4.19.2}]\n")
	w.must("plan", "-c", cfg, "-o", w.path("plan.json"))
	planned, err := signing.ReadPlan(w.path("plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	k := asking{t, w.env}
	list := []string{"list", "releases", "--channel", "stable-4.20", "--from", "4.19.1", "--sizes"}
	sizes := func(o outcome) (found []int64) {
		t.Helper()
		var l query.ReleaseList
		if err := json.Unmarshal([]byte(o.stdout), &l); err != nil || o.code != exitOK {
			t.Fatalf("%v\n%s%s", err, o.stdout, o.stderr)
		}
		for _, r := range l.Channels[0].Releases {
			found = append(found, r.Size)
		}
		return found
	}
	got := sizes(k.gantry(append(list, "-o", "json")...))
	if len(got) != 2 || got[0] == 0 || got[1] != planned.Totals.Bytes {
		t.Errorf("the sizes are %v, the plan of the second has %d bytes", got, planned.Totals.Bytes)
	}
	if o := k.gantry(list...); !strings.HasPrefix(o.stdout, "VERSION        SIZE") {
		t.Error(o.stdout)
	}
	w.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/manifests/", Action: registrytest.Status(http.StatusNotFound)})
	o := k.gantry(append(list, "-o", "json")...)
	if got := sizes(o); got[0]+got[1] != 0 || !strings.Contains(o.stderr, "the size of release 4.20.1 is unknown: ") {
		t.Errorf("the sizes are %v\n%s", got, o.stderr)
	}
}
