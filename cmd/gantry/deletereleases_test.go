package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestDeleteReleases deletes releases by the lists of both tools, from a workspace that did not mirror them. What other
// releases have stays.
func TestDeleteReleases(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixture(t)
	cfg := w.config("imageset.yaml", `  platform:
    graph: true
    kubeVirtContainer: true
    channels:
    - name: fast-4.20
      from: [4.18.1]
`)
	w.must("mirror", "-c", cfg, w.docker("/site"))
	w.holds("site", "4.18.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64")
	other := []string{"--workspace", w.path("other")}
	list := w.listed("  platform:\n    channels:\n    - name: fast-4.20\n      maxVersion: 4.18.1\n      minVersion: 4.18.1\n", other...)
	r := w.deleted(exitOK, list, other...)
	if !slices.Contains(r.ImageSets, "imageset") || len(r.Images) == 0 {
		t.Errorf("%+v", r)
	}
	w.holds("site", "4.19.2-x86_64", "4.20.2-x86_64")
	w.must(append([]string{"verify", w.docker("/site")}, other...)...)

	// oc mirror lists every image of the release, also those of other releases.
	var items strings.Builder
	tags := w.mirrored("site/openshift")
	for _, tag := range tags {
		if strings.Contains(tag, ":4.19.2-x86_64") {
			items.WriteString("- imageName: docker://quay.io/openshift-release-dev/x\n  imageReference: docker://" + w.mirror.Host + "/" + tag + "\n  type: ocpReleaseContent\n")
		}
	}
	if items.Len() == 0 {
		t.Fatalf("%q", tags)
	}
	w.write("list.yaml", "apiVersion: mirror.openshift.io/v2alpha1\nkind: DeleteImageList\nitems:\n"+items.String())
	r = w.deleted(exitOK, w.path("list.yaml"))
	if len(r.Images) == 0 || len(r.Absent) > 0 {
		t.Errorf("%+v", r)
	}
	w.holds("site", "4.20.2-x86_64")
	w.must("verify", w.docker("/site"))
	if o := w.must("status", w.docker("/site")); !strings.Contains(o.stdout, "1 release,") {
		t.Errorf("%s", o.stdout)
	}
	w.must("prune", "--yes", w.docker("/site"))
	w.must("verify", w.docker("/site"))
}

// TestDeleteNested deletes with a limit of path components and by lists without what Gantry adds, and checks that
// nothing is deleted while a catalog stays that would name it.
func TestDeleteNested(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	nested := []string{"--max-nested-paths", "2"}
	w.must(append([]string{"mirror", "-c", w.operators("lantern", "tidewater"), w.docker("/site")}, nested...)...)
	const catalog = "  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n"
	list := w.listed(catalog+"    packages:\n    - name: tidewater\n      bundles:\n      - name: tidewater.v1.2.0\n", nested...)
	text, _, _ := strings.Cut(w.read("workspace/delete/delete-images.yaml"), "gantry:\n")
	var plain []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "  digest:") {
			plain = append(plain, line)
		}
	}
	w.write("plain.yaml", strings.Join(plain, ""))
	r := w.deleted(exitOK, w.path("plain.yaml"), nested...)
	if len(r.Catalogs) != 1 || len(r.Images) == 0 {
		t.Errorf("%+v", r)
	}
	w.must(append([]string{"verify", w.docker("/site")}, nested...)...)
	if r := w.deleted(exitOK, list, nested...); len(r.Absent) == 0 || len(r.Images) > 0 {
		t.Errorf("%+v", r)
	}

	// Another tag of the catalog.
	list = w.listed(catalog, nested...)
	client := w.mirror.Client()
	if err := client.Copy(t.Context(), client, "site/acme-operator-index", "v4.20", "site/acme-operator-index", "mine"); err != nil {
		t.Fatal(err)
	}
	w.refuse(exitError, []string{"nothing was deleted", "no record lists its tag mine"}, append([]string{"delete", "--delete-yaml-file", list, w.docker("/site")}, nested...)...)
	if !w.has("lantern") {
		t.Error("deleted what a catalog names")
	}
}
