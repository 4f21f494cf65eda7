package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/mirror/site"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// resourcesOf returns the names and the texts of the cluster resources in a workspace.
func (w *fixture) resourcesOf(workspace string) (names []string, text string) {
	w.t.Helper()
	for _, name := range w.glob(filepath.Join(workspace, "cluster-resources", "*.yaml")) {
		content, err := os.ReadFile(name)
		if err != nil {
			w.t.Fatal(err)
		}
		names, text = append(names, filepath.Base(name)), text+string(content)
	}
	return names, text
}

// recorded returns what a run of gantry mirror -o json recorded in the mirror.
func (w *fixture) recorded(args ...string) site.ImageSetRecord {
	w.t.Helper()
	var result mirroring.Result
	o := w.must(append([]string{"mirror", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || result.ImageSet == nil {
		w.t.Fatalf("%v: %+v", err, result)
	}
	return *result.ImageSet
}

// TestImageSets mirrors two image sets from two workspaces to one mirror. Each workspace gets the cluster
// resources of both.
func TestImageSets(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	catalog := func(file, name string) string {
		return w.config(file, "  operators:\n  - catalog: registry.example.com/"+name+"\n    packages: [{name: lantern}]\n")
	}
	one := catalog("one.yaml", "acme/operator-index:v4.20")
	two := w.config("two.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	here, there, mirror := w.path("here"), w.path("there"), w.docker("/ocp")
	first := w.recorded("-c", one, mirror, "--workspace", here)
	if first.Revision != 1 || !first.NewRevision || first.Runs != 1 || first.Name != "one" || first.Problem != "" {
		t.Errorf("the first run recorded %+v", first)
	}
	w.recorded("-c", two, mirror, "--workspace", there)
	names, text := w.resourcesOf(there)
	if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "cs-") }) || !strings.Contains(text, "tools") {
		t.Errorf("the second workspace has the cluster resources %v, want those of both image sets", names)
	}
	w.mirror.ResetLog()
	again := w.recorded("-c", one, mirror, "--workspace", here)
	if again.Revision != 1 || again.NewRevision || again.Runs != 2 {
		t.Errorf("a run with nothing new recorded %+v", again)
	}
	if _, text := w.resourcesOf(here); !strings.Contains(text, "tools") {
		t.Errorf("the first workspace does not have the cluster resources of the second:\n%s", text)
	}
	_, other := w.resourcesOf(there)
	if _, mine := w.resourcesOf(here); mine != other {
		t.Errorf("the two workspaces have different cluster resources:\n%s\n---\n%s", mine, other)
	}
	// The next run with nothing new, and nothing new of others either: two lists, and the manifests of the last run and of this one.
	w.mirror.ResetLog()
	w.recorded("-c", one, mirror, "--workspace", here)
	var requests []string
	for _, r := range w.mirror.Log() {
		if strings.HasSuffix(r.Repository(), "gantry-image-sets") {
			requests = append(requests, r.Kind())
		}
	}
	if !slices.Equal(requests, []string{"GET tags", "GET tags", "GET manifest", "PUT manifest"}) {
		t.Errorf("a run with nothing new makes the requests %v for records", requests)
	}

	// A third host continues with the first image set; without a connection, it has the union.
	third := w.path("third")
	if r := w.recorded("-c", one, mirror, "--workspace", third); r.Revision != 1 || r.Runs != 4 {
		t.Errorf("a run on another host recorded %+v", r)
	}
	if err := os.RemoveAll(filepath.Join(third, "cluster-resources")); err != nil {
		t.Fatal(err)
	}
	w.must("resources", mirror, "--workspace", third)
	if _, text := w.resourcesOf(third); text != other {
		t.Errorf("gantry cluster resources writes\n%s\nwant\n%s", text, other)
	}

	// The status of the mirror needs no workspace.
	o := w.must("status", mirror, "--revisions")
	for _, want := range []string{"IMAGE SET", "one ", "two ", "configuration ", "1 catalog (1 package)", "1 image"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("the status does not have %q:\n%s", want, o.stdout)
		}
	}
	if former := w.must("status", mirror, "--turns"); former.stdout != o.stdout || !strings.Contains(o.stdout, "REVISION") {
		t.Errorf("with the former name of the flag:\n%s\nwant\n%s", former.stdout, o.stdout)
	}
	var status report.MirrorState
	if err := json.Unmarshal([]byte(w.must("status", mirror, "-o", "json").stdout), &status); err != nil || len(status.ImageSets) != 2 || status.ImageSets[0].Runs != 4 || status.ImageSets[0].Content.Packages != 1 {
		t.Errorf("the status is %+v, %v", status, err)
	}

	// Another selection of the same catalog would replace the one of the first image set.
	rival := w.config("rival.yaml", "  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    full: true\n")
	w.refuse(exitUsage, []string{`a catalog of the image set "one"`, "mirrored by"}, "mirror", "-c", rival, mirror, "--workspace", w.path("fourth"))
	// Another configuration with a name that the mirror has.
	w.mkdir("team")
	same := w.config("team/two.yaml", "  additionalImages:\n  - name: images.example.net/tools/must-gather:4.20\n")
	w.refuse(exitUsage, []string{`an image set called "two" of another workspace`, "--name"}, "mirror", "-c", same, mirror, "--workspace", w.path("fifth"))
}

// TestDiff compares configurations, plans, archives and image sets of a mirror with each other.
func TestDiff(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	stanza := func(packages, images string) string {
		return "  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    packages: [" + packages + "]\n  additionalImages:\n" + images
	}
	const netcheck, gather = "  - name: images.example.net/tools/netcheck:1.4\n", "  - name: images.example.net/tools/must-gather:4.20\n"
	isc := w.config("ocp.yaml", stanza("{name: lantern}", netcheck))
	mirror := w.docker("/ocp")
	w.must("plan", "-c", isc, "--lock", w.path("old.json"))
	w.must("mirror", "-c", isc, mirror)
	w.must("mirror", "-c", isc, "file://"+w.path("disk"))
	w.must("mirror", "-c", w.config("edge.yaml", "  additionalImages:\n"+gather), mirror, "--workspace", w.path("edge"))
	same := func(args ...string) {
		t.Helper()
		if o := w.must(append([]string{"diff"}, args...)...); !strings.HasPrefix(o.stdout, "No difference: ") {
			t.Errorf("gantry diff %v prints\n%s", args, o.stdout)
		}
	}
	same("-c", isc, mirror)
	same("-c", isc, w.path("old.json"))
	same(w.path("old.json"), mirror)
	same(mirror, "file://"+w.path("disk"))

	isc = w.config("ocp.yaml", stanza("{name: lantern}, {name: tidewater}", gather))
	differs := func(d *report.ContentDifference, args ...string) {
		t.Helper()
		o := w.gantry(append([]string{"diff", "-o", "json"}, args...)...)
		if err := json.Unmarshal([]byte(o.stdout), d); err != nil || o.code != exitSomething {
			t.Fatalf("gantry diff %v: %d, %v\n%s", args, o.code, err, o.stderr)
		}
	}
	var d report.ContentDifference
	differs(&d, "-c", isc, mirror)
	if len(d.Catalogs) != 1 || len(d.Catalogs[0].Packages) != 1 || d.Catalogs[0].Packages[0].Name != "tidewater" || d.Catalogs[0].Packages[0].Change != "added" ||
		d.NewBytes == 0 || d.RemovedBytes == 0 || len(d.Old.ImageSets) != 1 || d.Old.ImageSets[0].Name != "ocp" {
		t.Errorf("the difference is %+v", d)
	}
	text := w.gantry("diff", "-c", isc, mirror).stdout
	for _, want := range []string{"Changed: catalog registry.example.com/" + acme, "package tidewater added", "tools/must-gather:4.20", "Removed: 1 image", "tools/netcheck:1.4"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not have %q:\n%s", want, text)
		}
	}
	// The last two revisions.
	w.refuse(exitUsage, []string{"several image sets: edge, ocp", "--name"}, "diff", mirror)
	w.refuse(exitUsage, []string{"only one revision"}, "diff", mirror, "--name", "ocp")
	w.must("mirror", "-c", isc, mirror)
	var revisions report.ContentDifference
	differs(&revisions, mirror, "--name", "ocp")
	if revisions.Old.ImageSets[0].Revision != 1 || revisions.New.ImageSets[0].Revision != 2 || revisions.NewBytes != d.NewBytes || revisions.RemovedBytes != d.RemovedBytes {
		t.Errorf("of the revisions, the difference is %+v, want the bytes of %+v", revisions, d)
	}
	// Without an image set of that name, all of them count: only the other image set has must-gather in common.
	var all report.ContentDifference
	differs(&all, mirror, w.path("old.json"), "--name", "edge")
	if len(all.Removed) != 1 || len(all.Old.ImageSets) != 1 {
		t.Errorf("the difference is %+v", all)
	}
	w.refuse(exitUsage, []string{"no record of the image set", "gantry status"}, "diff", "-c", isc, mirror, "--name", "nosuch")
	w.refuse(exitUsage, []string{"has no records"}, "diff", "-c", isc, w.docker("/nothing"))
	w.refuse(exitUsage, []string{"nosuch.json"}, "diff", w.path("nosuch.json"), mirror)
	w.refuse(exitUsage, []string{"nothing to compare"}, "diff", w.path("old.json"))
}

// TestImageSetsAfterLoss checks that a mirror which lost its storage gets its content and records again, and
// that a mirror which refuses records is mirrored to all the same.
func TestImageSetsAfterLoss(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	one := w.config("one.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	two := w.config("two.yaml", "  additionalImages:\n  - name: images.example.net/tools/must-gather:4.20\n")
	mirror := w.docker("/ocp")
	w.must("mirror", "-c", one, mirror, "--workspace", w.path("here"))
	w.must("mirror", "-c", two, mirror, "--workspace", w.path("there"))
	w.must("mirror", "-c", one, mirror, "--workspace", w.path("here"))
	empty := registrytest.Memory()
	w.mirror.Script(registrytest.Rule{Action: func(rw http.ResponseWriter, r *http.Request, _ http.Handler) { empty.ServeHTTP(rw, r) }})
	o := w.must("mirror", "-c", one, mirror, "--workspace", w.path("here"))
	if !strings.Contains(o.stdout, "1 images copied") && !strings.Contains(o.stdout, "1 image copied") {
		t.Errorf("the run prints\n%s", o.stdout)
	}
	if !strings.Contains(o.stderr, `no longer has the image set "two"`) {
		t.Errorf("the run says\n%s", o.stderr)
	}
	if _, text := w.resourcesOf(w.path("here")); strings.Contains(text, "must-gather") {
		t.Errorf("the cluster resources have the lost image set:\n%s", text)
	}
	if r := w.recorded("-c", two, mirror, "--workspace", w.path("there")); r.Revision != 1 || r.Problem != "" {
		t.Errorf("the other run recorded %+v", r)
	}

	// A registry that refuses the repository.
	w.mirror.Script(registrytest.Rule{Path: "gantry-image-sets", Action: registrytest.Status(http.StatusForbidden)})
	o = w.must("mirror", "-c", one, mirror, "--workspace", w.path("here"))
	if n := strings.Count(o.stderr, "gantry-image-sets"); n < 1 || !strings.Contains(o.stderr, "records nothing in the mirror") {
		t.Errorf("the run says\n%s", o.stderr)
	}
	if r := w.recorded("-c", one, mirror, "--workspace", w.path("here")); r.Problem == "" || r.Revision != 0 {
		t.Errorf("the run recorded %+v", r)
	}
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "gantry-image-sets/manifests", Action: registrytest.Status(http.StatusForbidden)})
	if r := w.recorded("-c", one, mirror, "--workspace", w.path("here")); r.Problem == "" {
		t.Errorf("the run recorded %+v", r)
	}
}
