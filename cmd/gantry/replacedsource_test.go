package main

import (
	"net/http"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// pushKites pushes an image with the catalog in a folder, as if it was created on a day.
func (w *fixture) pushKites(folder string, day time.Time) {
	w.t.Helper()
	img := mirrortest.FileImage(w.t, v1.Config{Labels: map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"}}, map[string]string{"configs/kite/catalog.yaml": w.read(folder + "/catalog.yaml")})
	dated, err := mutate.CreatedAt(img, v1.Time{Time: day})
	if err != nil {
		w.t.Fatal(err)
	}
	w.push("registry.example.com/replaced/kites:v1", dated)
}

// pulled returns the digest of an image that the mirror has.
func (w *fixture) pulled(repository, tag string) string {
	w.t.Helper()
	p, err := w.mirror.Client().Pull(w.t.Context(), repository, tag)
	if err != nil {
		w.t.Fatal(err)
	}
	return p.Digest.String()
}

// TestOlderSource mirrors a catalog whose source was created before the source of the published one.
func TestOlderSource(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	june := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	w.chainCatalog("one", "1.0.0")
	w.chainCatalog("two", "1.0.0", "1.1.0")
	for _, kind := range []string{"packages: [{name: kite}]", "full: true"} { // built, and as it is
		isc := w.config("imageset.yaml", "  operators:\n  - {catalog: 'registry.example.com/replaced/kites:v1', "+kind+"}\n")
		to := w.docker("/" + kind[:4])
		w.pushKites("one", june)
		w.must("mirror", "-c", isc, to)
		w.pushKites("two", june.AddDate(0, 0, -30))
		w.refuse(exitMismatch, []string{"so nothing was published: the source of the catalog was created on 2026-05-02, before the one of the published catalog on 2026-06-01", "--allow-older"}, "mirror", "-c", isc, to)
		w.says(w.must("plan", "-c", isc, to).stdout, "OLDER: the source of the catalog was created on 2026-05-02")
		w.pushKites("two", june.AddDate(0, 1, 0))
		w.must("mirror", "-c", isc, to)
		w.pushKites("two", june)
		w.must("mirror", "-c", isc, to, "--allow-older")
	}
}

// TestUnreadablePublished replaces an image that is not a catalog.
func TestUnreadablePublished(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	isc := w.kites("imageset.yaml", w.chainCatalog("kites", "1.0.0"), "packages: [{name: kite}]")
	other, err := registrytest.Image("other")
	if err == nil {
		_, err = w.mirror.Client().Push(t.Context(), "ocp/org/kites", "v1", other)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.refuse(exitMismatch, []string{"cannot be compared with the one at " + w.mirror.Host + "/ocp/org/kites:v1, so nothing was published"}, "mirror", "-c", isc, w.docker("/ocp"), "--on-strand", "refuse")
	w.says(w.must("plan", "-c", isc, w.docker("/ocp")).stdout, "not compared: ")
	w.says(w.must("mirror", "-c", isc, w.docker("/ocp")).stderr, "at "+w.mirror.Host+"/ocp/org/kites:v1 is replaced: it was not compared with the new one: ")
}

// TestStrandedByMissingImage leaves out a package whose image fails during the copy. Its clusters are stranded.
func TestStrandedByMissingImage(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	late, err := registrytest.Image("replaced/late")
	if err != nil {
		t.Fatal(err)
	}
	w.push("images.example.net/replaced/late:v1", late)
	w.chainCatalog("kites", "1.0.0")
	crow := "---\n{schema: olm.package, name: crow, defaultChannel: stable}\n---\n{schema: olm.channel, package: crow, name: stable, entries: [{name: crow.v1.0.0}]}\n" +
		"---\n{schema: olm.bundle, package: crow, name: crow.v1.0.0, image: 'images.example.net/tools/netcheck:1.4', properties: [{type: olm.package, value: {packageName: crow, version: 1.0.0}}]}\n"
	first := w.read("kites/catalog.yaml")
	w.write("kites/catalog.yaml", first+crow)
	isc := w.kites("imageset.yaml", "dir://"+w.path("kites"), "full: true")
	w.must("mirror", "-c", isc, w.docker("/ocp"))

	w.chainCatalog("kites", "1.0.0", "1.1.0")
	w.write("kites/catalog.yaml", w.read("kites/catalog.yaml")+crow+
		"---\n{schema: olm.bundle, package: kite, name: kite.v1.2.0, image: 'images.example.net/replaced/late:v1', properties: [{type: olm.package, value: {packageName: kite, version: 1.2.0}}]}\n"+
		"---\n{schema: olm.channel, package: kite, name: late, entries: [{name: kite.v1.2.0, replaces: kite.v1.1.0}]}\n")
	w.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/replaced/late/blobs/", Action: registrytest.Status(http.StatusNotFound)})
	args := []string{"mirror", "-c", isc, w.docker("/ocp"), "--on-error", "package"}
	before := w.pulled("ocp/org/kites", "v1")
	w.refuse(exitMismatch, []string{"package kite (OLM classic, OLM v1): kite.v1.0.0: the package is no longer in the catalog", "so nothing was published"}, append(args, "--on-strand=refuse")...)
	if after := w.pulled("ocp/org/kites", "v1"); after != before {
		t.Errorf("the catalog was %s and is %s", before, after)
	}
	w.refuse(exitPartial, []string{"package kite (OLM classic, OLM v1): kite.v1.0.0: the package is no longer in the catalog", "excluded: package kite"}, args...)
}
