package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/plan"
)

// itemsOf returns the items of a list of oc mirror for the images of a package in the mirror of deletable, by kind.
func (w *fixture) itemsOf(pkg string) map[plan.ImageKind]string {
	w.t.Helper()
	w.write("kept.yaml", "kind: DeleteImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\ndelete:\n  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    packages:\n    - name: "+pkg+"\n")
	o := w.must("delete", "--generate", "-o", "json", "-c", w.path("kept.yaml"), w.docker("/site"))
	var l removal.DeletionList
	if err := json.Unmarshal([]byte(o.stdout), &l); err != nil {
		w.t.Fatal(err)
	}
	items := map[plan.ImageKind]string{}
	for i := range l.Images {
		img := &l.Images[i]
		items[img.Kind] += "- imageName: docker://" + img.Source + "\n  imageReference: docker://" + img.Image + "\n  type: operatorRelatedImage\n"
	}
	return items
}

// TestDeleteKept checks the exit status of a list with images that stay: 3 if nothing that is listed explains it.
func TestDeleteKept(t *testing.T) {
	t.Parallel()
	long(t)
	w, _ := deletable(t)
	list := func(items string) string {
		w.write("list.yaml", "apiVersion: mirror.openshift.io/v2alpha1\nkind: DeleteImageList\nitems:\n"+items)
		return w.path("list.yaml")
	}
	lantern, tidewater := w.itemsOf("lantern"), w.itemsOf("tidewater")
	netcheck := "- imageName: docker://images.example.net/tools/netcheck:1.4\n  imageReference: " + w.docker("/site/tools/netcheck:1.4") + "\n  type: generic\n"
	if lantern[plan.RelatedImage] == "" || tidewater[plan.BundleImage] == "" {
		t.Fatalf("%q\n%q", lantern, tidewater)
	}
	before := w.mirrored("site")

	// Operands of bundles that stay: nothing is deleted.
	for _, args := range [][]string{nil, {"--dry-run"}} {
		o := w.gantry(append([]string{"delete", "--delete-yaml-file", list(lantern[plan.RelatedImage]), w.docker("/site")}, args...)...)
		if o.code != exitPartial || strings.Contains(o.stdout, "Nothing to delete") {
			t.Fatalf("%v: %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
		w.says(o.stdout, "Nothing was deleted from ", "Listed, but kept:", "the image set imageset needs it: bundle lantern.")
		w.says(o.stderr, "stay", "list what needs")
	}
	if after := w.mirrored("site"); len(after) != len(before) {
		t.Errorf("%q, before %q", after, before)
	}
	// The same beside an image that is deleted.
	if r := w.deleted(exitPartial, list(netcheck+lantern[plan.RelatedImage])); len(r.Images) != 1 || len(r.Stays) == 0 || w.has("netcheck") {
		t.Errorf("%+v", r)
	}
	// A package with everything that it has, as oc mirror lists it, with the catalog: what stays there is explained.
	catalog := "- imageName: docker://registry.example.com/" + acme + ":v4.20\n  imageReference: " + w.docker("/site/acme/operator-index:v4.20") + "\n  type: operatorCatalog\n"
	items := list(catalog + tidewater[plan.BundleImage] + tidewater[plan.RelatedImage])
	if r := w.deleted(exitOK, items); len(r.Catalogs) != 1 || w.has("tidewater") || !w.has("lantern") {
		t.Errorf("%+v", r)
	}
	w.deleted(exitOK, items) // again: what it has is gone
	w.verify("site", acme, 1)
	w.must("verify", w.docker("/site"))
}
