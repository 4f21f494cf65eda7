package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestPruneForget gives up image sets: what only they want is deleted, also their catalogs and records. Another
// workspace that knows them continues, and a run records the image set anew.
func TestPruneForget(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	edge := w.config("edge.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	w.must("mirror", "-c", edge, w.docker("/site"))
	alone := w.mirrored("site")
	isc := w.operators("lantern", "tidewater")
	w.must("mirror", "-c", isc, w.docker("/site"))
	other := []string{"--workspace", w.path("other")}
	w.must(append([]string{"mirror", "-c", edge, w.docker("/site")}, other...)...)

	w.refuse(exitUsage, []string{`no image set "imagest"`, "use one of: edge, imageset"}, "prune", "--forget", "imagest", w.docker("/site"))
	o := w.must("prune", "--forget", "imageset", w.docker("/site"), "--save", w.path("forget.json"))
	for _, want := range []string{"operator-index:v4.20", "tidewater", "The image set imageset is given up"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in\n%s", want, o.stdout)
		}
	}
	if strings.Contains(o.stdout, "netcheck") || !strings.Contains(o.stderr, "minutes ago") {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
	w.must("verify", w.docker("/site"))
	w.refuse(exitUsage, []string{`not made with --forget "edge"`}, "prune", "--forget", "edge", "--plan", w.path("forget.json"), w.docker("/site"))

	// If the catalog cannot be deleted, nothing that it names is.
	w.mirror.Script(registrytest.Rule{Method: http.MethodDelete, Path: "/operator-index/", Action: registrytest.Refuse(http.StatusForbidden, "DENIED")})
	if o := w.gantry("prune", "--yes", "--forget", "imageset", w.docker("/site")); o.code != exitPartial {
		t.Fatalf("%d %s%s", o.code, o.stdout, o.stderr)
	}
	w.mirror.Script()
	w.must("verify", w.docker("/site"))

	o = w.must("prune", "--plan", w.path("forget.json"), w.docker("/site"))
	if !strings.Contains(o.stdout, "was given up") {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
	if have := w.mirrored("site"); !slices.Equal(have, alone) { // also the records
		t.Errorf("the mirror has %q, and had %q before", have, alone)
	}
	if o := w.must("status", w.docker("/site")); strings.Contains(o.stdout, "imageset") || !strings.Contains(o.stdout, "edge") {
		t.Errorf("%s", o.stdout)
	}
	if o := w.must("resources", "--workspace", w.path("workspace")); strings.Contains(o.stdout, "cs-") {
		t.Errorf("%s", o.stdout)
	}
	w.refuse(exitUsage, []string{"no image set"}, "prune", "--forget", "imageset", w.docker("/site"))

	// The other workspace knows the image set, and that the mirror had a record of it.
	w.must(append([]string{"prune", "--yes", w.docker("/site")}, other...)...)
	w.must(append([]string{"verify", "-c", edge, w.docker("/site")}, other...)...)

	// Mirrored again, it is recorded anew.
	w.must("mirror", "-c", isc, w.docker("/site"))
	w.verify("site", acme, 4)
	w.must("verify", w.docker("/site"))

	// The last image sets of a mirror. Each further run replaces the manifest of the last one.
	w.must("mirror", "-c", edge, w.docker("/site"))
	w.must("mirror", "-c", edge, w.docker("/site"))
	w.must("prune", "--yes", "--forget", "edge", w.docker("/site"))
	w.must("prune", "--yes", "--forget", "imageset", w.docker("/site"))
	left, err := w.mirror.Repositories("site")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range left {
		if len(r.Tags) > 0 && isContent(r.Name) || len(r.Manifests) > 0 && !strings.HasSuffix(r.Name, "/gantry-lease") {
			t.Errorf("the mirror still has %+v", r)
		}
	}
	w.must("mirror", "-c", isc, w.docker("/site"))
	w.must("verify", w.docker("/site"))
	w.verify("site", acme, 4)
}
