package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/removal"
)

// listed lists what a stanza selects of the mirror, and returns the file.
func (w *fixture) listed(stanza string, args ...string) string {
	w.t.Helper()
	w.write("delete.yaml", "kind: DeleteImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\ndelete:\n"+stanza)
	o := w.must(append([]string{"delete", "--generate", "-o", "json", "-c", w.path("delete.yaml"), w.docker("/site")}, args...)...)
	var l removal.DeletionList
	if err := json.Unmarshal([]byte(o.stdout), &l); err != nil {
		w.t.Fatal(err)
	}
	return l.File
}

// deleted runs gantry delete for a list, and returns its result.
func (w *fixture) deleted(code int, list string, args ...string) removal.DeleteResult {
	w.t.Helper()
	o := w.gantry(append([]string{"delete", "-o", "json", "--delete-yaml-file", list, w.docker("/site")}, args...)...)
	if o.code != code {
		w.t.Fatalf("gantry delete ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	var r removal.DeleteResult
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

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
