package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/prune"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/workspace"
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
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

// TestPruneRefused checks that a registry that deletes nothing is asked only for the deletion of the
// artifact that was pushed to find that out.
func TestPruneRefused(t *testing.T) {
	t.Parallel()
	w := prunable(t, registrytest.Options{})
	w.mirror.Script(registrytest.Rule{Method: http.MethodDelete, Action: registrytest.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED")})
	w.mirror.ResetLog()
	w.refuse(exitPartial, []string{"refuses to delete content, so nothing was deleted", "REGISTRY_STORAGE_DELETE_ENABLED"}, "prune", "--yes", w.docker("/site"))
	if o := w.gantry("prune", "--yes", w.docker("/site")); strings.Contains(o.stdout, "--yes") {
		t.Errorf("%s", o.stdout)
	}
	for _, r := range w.mirror.Log() {
		if r.Method == http.MethodDelete && !strings.Contains(r.Path, "/gantry-image-sets/") {
			t.Errorf("DELETE %s", r.Path)
		}
	}
	before := w.lastRun()
	w.refuse(exitPartial, []string{"everything was mirrored", "refuses to delete content"}, "mirror", "-c", w.path("imageset.yaml"), w.docker("/site"), "--prune")
	if r := w.lastRun(); r.Result != state.RunPartial || r.LastSuccess != r.Ended || r.Started.Equal(before.Started) && r.Message == "" || r.Failed > 0 {
		t.Errorf("%+v", r)
	}
	if o := w.must("status"); !strings.Contains(o.stdout, "copied, not pruned") || !strings.Contains(o.stdout, "is partial:\n  everything was mirrored") {
		t.Errorf("%s", o.stdout)
	}
	w.mirror.Script()
	if r := w.pruned(exitOK); r.Plan.Totals.Manifests == 0 {
		t.Error("nothing is left to delete")
	}
	w.must("verify", "-c", w.path("imageset.yaml"), w.docker("/site"))
}

// lastRun returns the only run that the workspace knows.
func (w *fixture) lastRun() state.Run {
	w.t.Helper()
	var s workspace.StatusReport
	if err := json.Unmarshal([]byte(w.must("status", "-o", "json").stdout), &s); err != nil || len(s.Runs) != 1 {
		w.t.Fatalf("%+v, %v", s, err)
	}
	return s.Runs[0]
}

// TestPruneOverlap checks that content stays which another mirror lists, whose prefix is below this one or
// contains it, and that records are found with a limit of path components.
func TestPruneOverlap(t *testing.T) {
	t.Parallel()
	long(t) // package mirror/prune tests what stays, TestPruneWithArchives the verb
	w := prunable(t, registrytest.Options{})
	// The first mirror had netcheck in site/tools/netcheck, and so has the second one below it.
	other := w.config("other.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n    targetRepo: netcheck\n")
	stanza := "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n  - name: images.example.net/tools/must-gather:4.20\n"
	w.must("mirror", "-c", w.config("imageset.yaml", stanza), "--name", "imageset", w.docker("/site"))
	w.must("mirror", "-c", other, w.docker("/site/tools"))
	w.must("mirror", "-c", w.operators("lantern"), "--name", "imageset", w.docker("/site"))
	w.must("prune", "--yes", w.docker("/site"))
	w.must("verify", "-c", other, w.docker("/site/tools"))
	if r := w.pruned(exitOK); !r.Plan.Empty() {
		t.Errorf("%+v", r.Plan)
	}
	if o := w.must("prune", "--yes", w.docker("/site/tools")); !strings.Contains(o.stdout, "Nothing to delete") {
		t.Errorf("%s", o.stdout)
	}
	nested := []string{"--max-nested-paths", "2"}
	w.must(append([]string{"mirror", "-c", w.operators("lantern", "tidewater"), w.docker("/flat")}, nested...)...)
	w.must(append([]string{"mirror", "-c", w.operators("lantern"), w.docker("/flat")}, nested...)...)
	// A run without the limit, or with another one, uses the same records.
	w.must("mirror", "-c", w.config("deep.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n"), w.docker("/flat"))
	if o := w.must("prune", w.docker("/flat")); !strings.Contains(o.stdout, "tidewater") || strings.Contains(o.stdout, "netcheck") {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
	o := w.must(append([]string{"prune", "--yes", w.docker("/flat")}, nested...)...)
	if !strings.Contains(o.stdout, "Deleted from ") {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
	w.must(append([]string{"verify", "-c", w.path("imageset.yaml"), w.docker("/flat")}, nested...)...)
	if o := w.must("verify", w.docker("/flat")); !strings.Contains(o.stdout, "Image set deep") || !strings.Contains(o.stdout, "Image set imageset") {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
}

// TestPruneFailure checks that a run whose deletions fail in one repository does the others, and that the
// next one does the rest.
func TestPruneFailure(t *testing.T) {
	t.Parallel()
	w := prunable(t, registrytest.Options{})
	w.mirror.Script(registrytest.Rule{Method: http.MethodDelete, Path: "/tidewater/proxy/", Action: registrytest.Refuse(http.StatusForbidden, "DENIED")})
	r := w.pruned(exitPartial, "--yes")
	if r.Deleted == nil || len(r.Deleted.Failed) == 0 || r.Deleted.Manifests == 0 {
		t.Fatalf("%+v", r.Deleted)
	}
	for _, f := range r.Deleted.Failed {
		if f.Repository != "site/tidewater/proxy" {
			t.Errorf("%+v", f)
		}
	}
	w.mirror.Script()
	if r = w.pruned(exitOK, "--yes"); r.Deleted == nil || r.Plan.Totals.Repositories != 1 || len(r.Plan.Revisions) == 0 {
		t.Errorf("%+v", r.Plan)
	}
	if r = w.pruned(exitOK); !r.Plan.Empty() {
		t.Errorf("%+v", r.Plan)
	}
	w.verify("site", acme, 1)
}

// TestPruneInterrupted sends the signal of Ctrl-C in the middle of the deletions. The next run deletes the
// rest.
func TestPruneInterrupted(t *testing.T) {
	t.Parallel()
	long(t)
	w := prunable(t, registrytest.Options{})
	cmd := w.process(t.Context(), "prune", "--yes", w.docker("/site"), "--workspace", w.path("workspace"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	interrupt, run := interruptible(cmd)
	w.mirror.Script(registrytest.Rule{Method: http.MethodDelete, Path: "/tidewater/", Nth: 4, Action: withoutResponse(interrupt)})
	var exit *exec.ExitError
	if err := run(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	w.mirror.Script()
	w.verify("site", acme, 1)
	w.must("prune", "--yes", w.docker("/site"))
	if r := w.pruned(exitOK); !r.Plan.Empty() {
		t.Errorf("%+v", r.Plan)
	}
	w.must("verify", "-c", w.path("imageset.yaml"), w.docker("/site"))
}

// TestPruneKeepsPublishedCatalog checks that a catalog stays complete which is still published because the
// newer one was withheld, and that content of others stays.
func TestPruneKeepsPublishedCatalog(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc := w.operators("lantern")
	w.must("mirror", "-c", isc, w.docker("/site"))
	w.operators("tidewater")
	w.source.Script(registrytest.Rule{Path: "/tidewater/proxy/manifests/", Action: registrytest.Refuse(http.StatusNotFound, "MANIFEST_UNKNOWN")})
	w.refuse(exitPartial, []string{"withheld"}, "mirror", "-c", isc, w.docker("/site"))
	if r := w.pruned(exitOK, "--yes"); !r.Plan.Empty() {
		t.Errorf("%+v", r.Plan)
	}
	w.verify("site", acme, 1)
	w.source.Script()
	img, err := registrytest.Image("foreign")
	if err == nil {
		_, err = w.mirror.Client().Push(t.Context(), "site/lantern/ui", "mine", img)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.must("mirror", "-c", isc, w.docker("/site"))
	if r := w.pruned(exitOK, "--yes"); r.Deleted == nil || r.Deleted.Manifests == 0 {
		t.Errorf("%+v", r.Plan)
	}
	repositories, err := w.mirror.Repositories("site/lantern")
	if err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, r := range repositories {
		for tag := range r.Tags {
			tags = append(tags, r.Name+":"+tag)
		}
	}
	if !slices.Equal(tags, []string{"site/lantern/ui:mine"}) {
		t.Errorf("left: %v", tags)
	}
	w.must("verify", "-c", isc, w.docker("/site"))
}

// TestPruneWithArchives checks that an archive brings removals: the site prunes after it mirrored it, and a
// later archive brings back what an image set needs again.
func TestPruneWithArchives(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	imported := func(name string, args ...string) outcome {
		return w.must(append([]string{"mirror", "--from", fileScheme + w.path(name), w.docker("/site"), "--workspace", w.path("site"), "--prune"}, args...)...)
	}
	w.must("mirror", "-c", w.operators("lantern", "tidewater"), fileScheme+w.path("first"))
	if o := imported("first"); !strings.Contains(o.stdout, "Nothing to delete") {
		t.Errorf("the first import:\n%s", o.stdout)
	}
	w.must("mirror", "-c", w.operators("lantern"), fileScheme+w.path("second"))
	if o := imported("second"); !strings.Contains(o.stdout, "Deleted from ") {
		t.Errorf("the second import:\n%s", o.stdout)
	}
	if tags, err := w.mirror.Repositories("site/tidewater"); err == nil {
		for _, r := range tags {
			if len(r.Tags) > 0 {
				t.Errorf("left: %v", r)
			}
		}
	}
	w.verify("site", acme, 1)
	w.must("mirror", "-c", w.operators("lantern", "tidewater"), fileScheme+w.path("third"))
	imported("third", "--from", fileScheme+w.path("second"))
	w.verify("site", acme, 4)
	w.refuse(exitUsage, []string{"--prune is for docker:// destinations"}, "mirror", "-c", w.path("imageset.yaml"), fileScheme+w.path("fourth"), "--prune")
	w.refuse(exitUsage, []string{"--prune deletes"}, "mirror", "-c", w.path("imageset.yaml"), w.docker("/site"), "--prune", "--dry-run")
}

// TestReplacedTag checks the warning about a tag under which another image set has another image.
func TestReplacedTag(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	config := func(name, image string) string {
		return w.config(name, "  additionalImages:\n  - name: "+image+"\n    targetRepo: app\n    targetTag: v1\n")
	}
	first, second := config("first.yaml", "images.example.net/tools/netcheck:1.4"), config("second.yaml", "images.example.net/tools/must-gather:4.20")
	const warning = "/site/app:v1 replaces the image that the image set \"first\" has under this tag"
	if o := w.must("mirror", "-c", first, w.docker("/site")); strings.Contains(o.stderr, "replaces") {
		t.Errorf("%s", o.stderr)
	}
	if o := w.must("mirror", "-c", second, w.docker("/site")); strings.Count(o.stderr, warning) != 1 {
		t.Errorf("%s", o.stderr)
	}
	if o := w.must("mirror", "-c", first, "--name", "third", w.docker("/site")); strings.Contains(o.stderr, "\"first\"") || !strings.Contains(o.stderr, "\"second\"") {
		t.Errorf("%s", o.stderr)
	}
}

// TestPruneKeepsTaggedCatalog checks that a catalog that no image set needs, and that another tag keeps, stays
// with what it names until the tag is gone.
func TestPruneKeepsTaggedCatalog(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc := w.operators("tidewater")
	w.must("mirror", "-c", isc, w.docker("/site"))
	client := w.mirror.Client()
	if err := client.Copy(t.Context(), client, "site/acme/operator-index", "v4.20", "site/acme/operator-index", "mine"); err != nil {
		t.Fatal(err)
	}
	w.operators("lantern")
	w.must("mirror", "-c", isc, w.docker("/site"))
	r := w.pruned(exitOK, "--yes")
	if !w.has("tidewater") || !slices.ContainsFunc(r.Plan.Kept, func(k prune.Kept) bool { return strings.Contains(k.Reason, "tag mine; what it names stays, too") }) {
		t.Errorf("%+v", r.Plan)
	}
	img, err := registrytest.Image("foreign")
	if err == nil {
		_, err = client.Push(t.Context(), "site/acme/operator-index", "mine", img)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.must("prune", "--yes", w.docker("/site"))
	if w.has("tidewater") {
		t.Errorf("%q", w.mirrored("site"))
	}
	w.must("verify", "-c", isc, w.docker("/site"))
}
