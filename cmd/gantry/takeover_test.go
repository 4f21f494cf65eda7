package main

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan"
)

// TestTakeover mirrors to a registry that oc mirror filled: every image but the catalogs is where its
// rules put it. The first run of Gantry with the same configuration uploads nothing of them, and the
// objects have the names that clusters know.
func TestTakeover(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc, lock := w.path("imageset.yaml"), w.path("plan.json")
	w.must("plan", "-c", isc, "--lock", lock)
	f, err := os.Open(lock)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := plan.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, img := range p.Images {
		if img.Kind == plan.CatalogImage {
			continue
		}
		from, err := reference.Parse(img.Source)
		if err != nil {
			t.Fatal(err)
		}
		repository := cmp.Or(targetRepo(img), from.Path)
		tag := from.Tag
		if slices.Contains(img.Tags, "latest") && repository != from.Path { // targetTag
			tag = "latest"
		}
		if tag == "" {
			tag = plan.ReferrersTag(img.Digest) // as oc mirror does
		}
		if err := w.mirror.Client().Copy(t.Context(), w.source.Client(), from.Host+"/"+from.Path, img.Digest.String(), "ocp/"+repository, tag); err != nil {
			t.Fatal(err)
		}
		there = append(there, "ocp/"+repository)
	}
	w.mirror.ResetLog()
	o := w.must("mirror", "-c", isc, w.docker("/ocp"), "--workspace", w.path("new"))
	for _, r := range w.mirror.Log() {
		if r.Kind() != "PUT manifest" && r.Kind() != "PUT blob" && r.Kind() != "PATCH upload" {
			continue
		}
		if repository := strings.TrimPrefix(r.Repository(), "/"); slices.Contains(there, repository) && !strings.HasSuffix(r.Path, ".image") { // a tag of its own
			t.Errorf("%s %s: the mirror had it", r.Method, r.Path)
		}
	}
	w.verify("ocp", acme, 4)
	for _, file := range []string{"cs-operator-index-v4-20.yaml", "cc-operator-index-v4-20.yaml", "idms-operator-0.yaml", "itms-generic-0.yaml"} {
		if _, err := os.Stat(w.path("new/cluster-resources/" + file)); err != nil {
			t.Errorf("%v\n%s", err, o.stdout)
		}
	}
}

// targetRepo is the path in the mirror that the sample's configuration sets for an image, or "".
func targetRepo(img plan.Image) string {
	if img.Kind == plan.AdditionalImage && strings.HasPrefix(img.Repository, "support/") {
		return img.Repository
	}
	return ""
}
