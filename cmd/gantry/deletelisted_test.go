package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// deletable mirrors two packages and two images, and lists the package tidewater and one image of them. It
// returns the file with the list.
func deletable(t *testing.T) (w *fixture, list string) {
	t.Helper()
	w = newFixture(t, registrytest.Options{})
	isc := w.config("imageset.yaml", `  operators:
  - catalog: registry.example.com/acme/operator-index:v4.20
    packages:
    - name: lantern
    - name: tidewater
  additionalImages:
  - name: images.example.net/tools/netcheck:1.4
  - name: images.example.net/tools/must-gather:4.20
`)
	w.must("mirror", "-c", isc, w.docker("/site"))
	return w, w.listed("  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    packages:\n    - name: tidewater\n  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
}

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

// has reports whether the mirror has an image: "tidewater".
func (w *fixture) has(word string) bool {
	w.t.Helper()
	for _, r := range contentBelow(w.t, w.mirror, "site") {
		if strings.Contains(r.Name, word) && len(r.Manifests) > 0 {
			return true
		}
	}
	return false
}

// TestDelete deletes what a list has: the catalog is published without it, the records agree, and the next run with
// the old configuration brings it back.
func TestDelete(t *testing.T) {
	t.Parallel()
	w, list := deletable(t)
	o := w.must("delete", "--delete-yaml-file", list, w.docker("/site"))
	for _, want := range []string{"Deleted from ", "Published again without the bundles", "the next\ngantry mirror brings back", "written again: apply them"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in\n%s", want, o.stdout)
		}
	}
	w.verify("site", acme, 1)
	if w.has("tidewater") || w.has("netcheck") || !w.has("lantern") || !w.has("must-gather") {
		t.Errorf("the mirror has %q", w.mirrored("site"))
	}
	if o := w.must("verify", w.docker("/site")); strings.Contains(o.stdout, "tidewater") {
		t.Errorf("%s", o.stdout)
	}
	if o := w.must("status", w.docker("/site")); !strings.Contains(o.stdout, "1 catalog (1 package)") {
		t.Errorf("%s", o.stdout)
	}
	if r := w.deleted(exitOK, list); len(r.Absent) == 0 || len(r.Images)+len(r.Catalogs)+len(r.Stays) > 0 || r.Deleted != nil {
		t.Errorf("%+v", r)
	}
	// The earlier image of the catalog is left.
	r := w.pruned(exitOK, "--yes")
	for i := range r.Plan.Manifests {
		if !strings.Contains(r.Plan.Manifests[i].Repository, "operator-index") {
			t.Errorf("prune deletes %+v", r.Plan.Manifests[i])
		}
	}
	if len(r.Plan.Manifests) == 0 {
		t.Error("prune deletes nothing")
	}
	w.must("verify", w.docker("/site"))
	w.must("mirror", "-c", w.path("imageset.yaml"), w.docker("/site"))
	w.verify("site", acme, 4)
	w.must("verify", "-c", w.path("imageset.yaml"), w.docker("/site"))
}

// TestDeleteShared checks that content stays which another image set needs, or another catalog of the same one, while
// the catalog that loses it is published without it.
func TestDeleteShared(t *testing.T) {
	t.Parallel()
	long(t) // packages plan/deletion and mirror/prune test what stays, TestDelete the verb
	w := newFixture(t, registrytest.Options{})
	const packages = "    packages:\n    - name: lantern\n    - name: tidewater\n"
	const both = "  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n" + packages + "  - catalog: registry.example.com/acme/operator-index:v4.20\n    targetCatalog: acme/copy\n" + packages
	w.must("mirror", "-c", w.config("imageset.yaml", both), w.docker("/site"))
	w.must("mirror", "-c", w.config("edge.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n"), w.docker("/site"))
	list := w.listed("  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    targetCatalog: acme/copy\n    packages:\n    - name: tidewater\n")
	r := w.deleted(exitOK, list)
	if len(r.Catalogs) != 1 || !strings.Contains(r.Catalogs[0].Image, "acme/copy") || len(r.Images) > 0 {
		t.Errorf("%+v", r)
	}
	w.verify("site", acme, 4)
	w.verify("site", "acme/copy", 1)
	w.must("verify", w.docker("/site"))

	// The whole second catalog, and an image that the other image set needs.
	list = w.listed("  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    targetCatalog: acme/copy\n")
	text := w.read("workspace/delete/delete-images.yaml")
	w.write("more.yaml", strings.Replace(text, "items:\n", "items:\n- imageName: docker://images.example.net/tools/netcheck:1.4\n  imageReference: "+w.docker("/site/tools/netcheck:1.4")+"\n  type: generic\n", 1))
	r = w.deleted(exitOK, list)
	if len(r.Images) != 1 || !strings.Contains(r.Images[0], "acme/copy") || slices.ContainsFunc(w.mirrored("site"), func(name string) bool { return strings.Contains(name, "acme/copy") }) {
		t.Errorf("%+v", r)
	}
	w.verify("site", acme, 4)
	o := w.must("resources")
	if strings.Contains(o.stdout, "copy") {
		t.Errorf("%s", o.stdout)
	}
	r = w.deleted(exitOK, w.path("more.yaml"), "--name", "imageset")
	if len(r.Stays) != 1 || !strings.Contains(r.Stays[0].Reason, "the image set edge needs it") {
		t.Errorf("%+v", r)
	}
	w.refuse(exitUsage, []string{`no image set "other"`}, "delete", "--delete-yaml-file", w.path("more.yaml"), "--name", "other", w.docker("/site"))
	w.must("verify", w.docker("/site"))
}

// TestDeleteOthers deletes images that no record lists, in a mirror without records too.
func TestDeleteOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	push := func(name, tag string) string {
		img, err := registrytest.Image(name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := w.mirror.Client().Push(t.Context(), "site/foreign/"+name, tag, img)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Replace(d.String(), ":", "-", 1)
	}
	one := push("one", "v1")
	sig, err := registrytest.Image("signature")
	if err == nil {
		_, err = w.mirror.Client().Push(t.Context(), "site/foreign/one", one+".sig", sig)
	}
	if err != nil {
		t.Fatal(err)
	}
	push("two", "v1")
	push("two", "v2")
	item := func(name string) string {
		return "- imageName: docker://quay.io/foreign/" + name + "\n  imageReference: " + w.docker("/site/foreign/"+name) + "\n  type: generic\n"
	}
	w.write("list.yaml", "apiVersion: mirror.openshift.io/v2alpha1\nkind: DeleteImageList\nitems:\n"+item("one:v1")+item("two:v1")+item("three:v1"))
	o := w.must("delete", "--delete-yaml-file", w.path("list.yaml"), w.docker("/site"))
	for _, want := range []string{"has no records of image sets. Not checked", "no record lists its tag v2", "Not in the mirror"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in\n%s", want, o.stdout)
		}
	}
	if w.has("foreign/one") || !w.has("foreign/two") {
		t.Errorf("%q", w.mirrored("site"))
	}
	w.must("mirror", "-c", w.operators("lantern"), w.docker("/site"))
	w.write("list.yaml", w.read("list.yaml")+item("two:v2"))
	if r := w.deleted(exitOK, w.path("list.yaml")); r.NoRecords || r.Unrecorded != 1 || len(r.Images) != 2 || w.has("foreign/two") {
		t.Errorf("%+v", r)
	}
	w.must("verify", w.docker("/site"))

	// The list of another mirror.
	w.refuse(exitUsage, []string{"is for another mirror", "set --list-mirror"}, "delete", "--delete-yaml-file", w.path("list.yaml"), w.docker("/other"))
	w.must("delete", "--delete-yaml-file", w.path("list.yaml"), "--list-mirror", w.docker("/site"), w.docker("/other"))
	w.refuse(exitUsage, []string{"the configuration and not the list"}, "delete", "--delete-yaml-file", w.listedConfiguration(), w.docker("/site"))
}

func (w *fixture) listedConfiguration() string {
	w.write("delete.yaml", "kind: DeleteImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\ndelete: {}\n")
	return w.path("delete.yaml")
}

// TestDeleteRefused checks that nothing changes if the registry does not delete.
func TestDeleteRefused(t *testing.T) {
	t.Parallel()
	w, list := deletable(t)
	before := w.mirrored("site")
	w.mirror.Script(registrytest.Rule{Method: http.MethodDelete, Action: registrytest.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED")})
	if r := w.deleted(exitPartial, list); !r.Refused || len(r.Catalogs) > 0 {
		t.Errorf("%+v", r)
	}
	w.mirror.Script()
	w.verify("site", acme, 4)
	w.must("verify", "-c", w.path("imageset.yaml"), w.docker("/site"))
	after := slices.DeleteFunc(w.mirrored("site"), func(name string) bool { return !slices.Contains(before, name) })
	if !slices.Equal(before, after) {
		t.Errorf("%q, before %q", after, before)
	}
}

// TestDeleteUnknownMirror checks that no catalog is published while it is unknown what another mirror needs, and while a
// catalog stays that the list has.
func TestDeleteUnknownMirror(t *testing.T) {
	t.Parallel()
	long(t) // TestPruneUnknownMirror refuses for the same reasons
	w, list := deletable(t)
	before := w.mirrored("site")
	unchanged := func() {
		t.Helper()
		after := slices.DeleteFunc(w.mirrored("site"), func(name string) bool { return !slices.Contains(before, name) })
		if !slices.Equal(before, after) {
			t.Errorf("%q, before %q", after, before)
		}
		w.verify("site", acme, 4)
		w.must("verify", "-c", w.path("imageset.yaml"), w.docker("/site"))
	}
	w.mirror.Script(registrytest.Rule{Path: "/v2/gantry/image-sets/", Action: registrytest.Refuse(http.StatusForbidden, "DENIED")})
	w.refuse(exitUnauthorized, []string{"/gantry/image-sets cannot be read", "set --only-mirror"}, "delete", "--delete-yaml-file", list, w.docker("/site"))
	w.mirror.Script()
	unchanged()

	const index = "site/acme/operator-index"
	if err := w.mirror.Client().Copy(t.Context(), w.mirror.Client(), index, "v4.20", index, "mine"); err != nil {
		t.Fatal(err)
	}
	w.write("whole.yaml", "apiVersion: mirror.openshift.io/v2alpha1\nkind: DeleteImageList\nitems:\n- imageName: docker://"+acme+":v4.20\n  imageReference: "+w.docker("/"+index+":v4.20")+"\n  type: operatorCatalog\n")
	before = w.mirrored("site")
	w.refuse(exitError, []string{"nothing was deleted", "no record lists its tag mine"}, "delete", "--delete-yaml-file", w.path("whole.yaml"), w.docker("/site"))
	unchanged()
	w.must("delete", "--delete-yaml-file", list, w.docker("/site"))
}

// TestDeleteFailures lets requests fail that change the mirror, and interrupts deletions. The mirror is consistent
// afterwards, and the next run continues.
func TestDeleteFailures(t *testing.T) {
	t.Parallel()
	long(t)
	deny := registrytest.Refuse(http.StatusForbidden, "DENIED")
	for name, rule := range map[string]registrytest.Rule{
		"catalog":          {Method: http.MethodPut, Path: "/operator-index/manifests/", Action: deny},
		"new revision":     {Method: http.MethodPut, Path: "/gantry-image-sets/manifests/imageset.t2", Action: deny},
		"current revision": {Method: http.MethodPut, Path: "/gantry-image-sets/manifests/imageset", Nth: 2, Action: deny},
		"deletion":         {Method: http.MethodDelete, Path: "/tidewater/", Nth: 2, Action: deny},
		"all of one":       {Method: http.MethodDelete, Path: "/tools/netcheck/", Action: deny},
		"last revision":    {Method: http.MethodPut, Path: "/gantry-image-sets/manifests/imageset.t3", Action: deny},
		"interrupted":      {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, list := deletable(t)
			if rule.Action == nil {
				w.interruptDelete(list)
			} else {
				w.mirror.Script(rule)
				if o := w.gantry("delete", "--delete-yaml-file", list, w.docker("/site")); o.code != exitPartial && o.code != exitUnauthorized {
					t.Fatalf("%d\n%s%s", o.code, o.stdout, o.stderr)
				}
			}
			w.mirror.Script()
			if name == "new revision" { // what is published is complete, and only the plan of the run lists it
				w.verify("site", acme, 1)
				w.must("prune", "--yes", w.docker("/site"))
				w.verify("site", acme, 1)
			} else {
				w.must("verify", w.docker("/site"), "--workspace", w.path("other"))
			}
			if has := w.has("tidewater"); rule.Method == http.MethodPut && name != "last revision" && !has {
				t.Error("deleted before the catalog or the record was written")
			}
			w.must("delete", "--delete-yaml-file", list, w.docker("/site"))
			w.verify("site", acme, 1)
			if w.has("tidewater") || w.has("netcheck") {
				t.Errorf("%q", w.mirrored("site"))
			}
			w.must("verify", w.docker("/site"))
		})
	}
}

// interruptDelete sends the signal of Ctrl-C in the middle of the deletions.
func (w *fixture) interruptDelete(list string) {
	w.t.Helper()
	cmd := w.process(w.t.Context(), "delete", "--delete-yaml-file", list, w.docker("/site"), "--workspace", w.path("workspace"))
	interrupt, run := interruptible(cmd)
	w.mirror.Script(registrytest.Rule{Method: http.MethodDelete, Path: "/tidewater/", Nth: 2, Action: withoutResponse(interrupt)})
	var exit *exec.ExitError
	if err := run(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		w.t.Fatal(err)
	}
}
