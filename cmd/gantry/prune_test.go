package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// prunable mirrors a configuration, and then a smaller one: lantern without tidewater and two images.
func prunable(t *testing.T, o registrytest.Options) *fixture {
	t.Helper()
	w := newFixture(t, o)
	isc := w.operators("lantern", "tidewater")
	w.must("mirror", "-c", isc, w.docker("/site"))
	w.operators("lantern")
	w.must("mirror", "-c", isc, w.docker("/site"))
	return w
}

// operators writes a configuration with these packages of the sample's catalog.
func (w *fixture) operators(packages ...string) string {
	stanza := "  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    packages:\n"
	for _, name := range packages {
		stanza += "    - name: " + name + "\n"
	}
	return w.config("imageset.yaml", stanza)
}

// pruned runs gantry prune and returns its result.
func (w *fixture) pruned(code int, args ...string) removal.PruneResult {
	w.t.Helper()
	o := w.gantry(append([]string{"prune", "-o", "json", w.docker("/site")}, args...)...)
	if o.code != code {
		w.t.Fatalf("gantry prune ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	var r removal.PruneResult
	fail.On(w.t, json.Unmarshal([]byte(o.stdout), &r))
	return r
}

// TestPruneCommand checks the text and the exit status of gantry prune, also with --others, --list and --forget. Package
// removal tests what is deleted.
func TestPruneCommand(t *testing.T) {
	t.Parallel()
	w := prunable(t, registrytest.Options{})
	where := w.docker("/site")
	w.says(w.must("prune", where).stdout, "tidewater", "--yes")
	w.mirror.Script(registrytest.Rule{Method: http.MethodDelete, Action: registrytest.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED")})
	w.refuse(exitPartial, []string{"refuses to delete content, so nothing was deleted", "REGISTRY_STORAGE_DELETE_ENABLED"}, "prune", "--yes", where)
	w.refuse(exitPartial, []string{"everything was mirrored", "refuses to delete content"}, "mirror", "-c", w.path("imageset.yaml"), where, "--prune")
	w.says(w.must("status").stdout, "copied, not pruned", "is partial:\n  everything was mirrored")
	w.mirror.Script(registrytest.Rule{Path: "/v2/gantry/image-sets/", Action: registrytest.Refuse(http.StatusForbidden, "DENIED")})
	w.refuse(exitUnauthorized, []string{"/gantry/image-sets cannot be read", "set --only-mirror"}, "prune", "--yes", where)
	w.mirror.Script()
	w.says(w.must("prune", "--yes", where).stdout, "Deleted from ")
	w.says(w.must("prune", where).stdout, "Nothing to delete")
	w.says(w.must("prune", "--others", where).stdout, "The records of ")
	img, err := registrytest.Image("foreign")
	if err == nil {
		_, err = w.mirror.Client().Push(t.Context(), "site/theirs/a", "mine", img)
	}
	fail.On(t, err)
	list := w.path("list.yaml")
	w.says(w.must("prune", "--others", "--select", "site/theirs/*", "--save", list, where).stdout, list+" has 1 image or tag of these.")
	w.says(w.must("prune", "--list", list, where).stdout, "To delete from ", "Nothing was deleted")
	w.says(w.must("prune", "--yes", "--list", list, where).stdout, "Deleted from ")
	w.refuse(exitUsage, []string{"is for another mirror", "set --list-mirror"}, "prune", "--list", list, w.docker("/other"))
	w.refuse(exitUsage, []string{"writing the plan"}, "prune", where, "--save", w.path("none/prune.json"))
	w.says(w.must("prune", "--forget", "imageset", where, "--save", w.path("forget.json")).stdout, "The image set imageset is given up")
	w.refuse(exitUsage, []string{`not made with --forget "edge"`}, "prune", "--forget", "edge", "--plan", w.path("forget.json"), where)
	w.says(w.must("prune", "--plan", w.path("forget.json"), where).stdout, "was given up")
	for words, args := range map[string][]string{
		"--others deletes nothing":             {"prune", "--others", "--yes", where},
		"--select":                             {"prune", "--select", "x", where},
		"--prune is for docker:// destination": {"mirror", "-c", w.path("imageset.yaml"), fileScheme + w.path("disk"), "--prune"},
		"--prune deletes":                      {"mirror", "-c", w.path("imageset.yaml"), where, "--prune", "--dry-run"},
		"--tag-untagged":                       {"mirror", "-c", w.path("imageset.yaml"), "--tag-untagged", fileScheme + w.path("disk")},
		"--dry-run":                            {"delete", "--dry-run", "--generate", "-c", "delete.yaml", where},
		"--layout is for --generate":           {"delete", "--layout", "gantry", "--delete-yaml-file", list, where},
		"gantry or oc-mirror":                  {"delete", "--layout", "x", "--generate", "-c", list, where},
	} {
		w.refuse(exitUsage, []string{words}, args...)
	}
}

// TestPruneSaveFails checks the exit status if the plan cannot be written because the disk is full.
func TestPruneSaveFails(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	full := w.medium("full", 1)
	fill, _ := w.filler(full)
	fill()
	w.must("mirror", "-c", w.operators("lantern"), w.docker("/site"))
	w.refuse(exitNoSpace, []string{"writing the plan", "free some space"}, "prune", w.docker("/site"), "--save", full+"/prune.json")
}

// TestDeleteCommand checks the text of gantry delete and the exit status for images that stay. Package removal tests what
// is deleted.
func TestDeleteCommand(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.must("mirror", "-c", w.operators("lantern", "tidewater"), w.docker("/site"))
	w.write("delete.yaml", "kind: DeleteImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\ndelete:\n"+
		"  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    packages:\n    - name: tidewater\n")
	generate := w.must("delete", "--generate", "-o", "json", "-c", w.path("delete.yaml"), w.docker("/site"))
	list := decoded[removal.DeletionList](t, generate.stdout).File
	remove := []string{"delete", "--delete-yaml-file", list, w.docker("/site")}
	w.says(w.must(append(remove, "--dry-run")...).stdout, "To delete from ", "To publish again without the bundles:", "Listed and to be deleted:", "Nothing was deleted")
	w.says(w.must(remove...).stdout, "Deleted from ", "Published again without the bundles", "the next\ngantry mirror brings back", "written again: apply them")
	w.says(w.must(append(remove, "-o", "json")...).stdout, `"images":[]`, `"absent":["`)
	w.says(w.must("status", w.docker("/site")).stdout, "1 catalog (1 package)")

	img := ""
	for _, name := range w.mirrored("site/lantern") {
		if !strings.Contains(name, "bundle") {
			img = name
		}
	}
	w.write("kept.yaml", "apiVersion: mirror.openshift.io/v2alpha1\nkind: DeleteImageList\nitems:\n- imageName: docker://quay.io/"+img+"\n  imageReference: docker://"+w.mirror.Host+"/"+img+"\n  type: operatorRelatedImage\n")
	o := w.gantry("delete", "--delete-yaml-file", w.path("kept.yaml"), w.docker("/site"))
	if o.code != exitPartial || strings.Contains(o.stdout, "Nothing to delete") {
		t.Fatalf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	w.says(o.stdout, "Nothing was deleted from ", "Listed, but kept:", "the image set imageset needs it: bundle lantern.")
	w.says(o.stderr, "stay", "list what needs")
}
