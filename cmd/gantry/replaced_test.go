package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/admission"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// chainCatalog writes a catalog of the package kite, in which each version replaces the one before, and returns its
// name. The images of its bundles exist.
func (w *fixture) chainCatalog(folder string, versions ...string) string {
	w.t.Helper()
	w.mkdir(folder)
	text, entries, before := "---\n{schema: olm.package, name: kite, defaultChannel: stable}\n", "", ""
	for _, v := range versions {
		entries += fmt.Sprintf("{name: kite.v%s%s}, ", v, before)
		before = ", replaces: kite.v" + v
		text += fmt.Sprintf("---\n{schema: olm.bundle, package: kite, name: kite.v%s, image: 'images.example.net/tools/netcheck:1.4', properties: [{type: olm.package, value: {packageName: kite, version: %[1]s}}]}\n", v)
	}
	w.write(folder+"/catalog.yaml", text+"---\n{schema: olm.channel, package: kite, name: stable, entries: ["+entries+"]}\n")
	return "dir://" + w.path(folder)
}

// kites writes the configuration of a month: the catalog, and a line for the package.
func (w *fixture) kites(name, catalog, pkg string) string {
	w.t.Helper()
	return w.config(name, "  operators:\n  - {catalog: '"+catalog+"', targetCatalog: org/kites, targetTag: v1, "+pkg+"}\n")
}

// replacements returns what the JSON of a run lists.
func (w *fixture) replacements(o outcome) []admission.ReplacedCatalog {
	w.t.Helper()
	var r struct {
		Replaced []admission.ReplacedCatalog `json:"replaced"`
	}
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		w.t.Fatalf("%v:\n%s", err, o.stdout)
	}
	return r.Replaced
}

const (
	strandedKite = "package kite, channel stable (OLM classic, OLM v1): kite.v1.0.0: there is no upgrade path to the head kite.v1.3.0"
	fixedKite    = "to fix it: keep kite.v1.1.0, kite.v1.2.0: add {package: kite, bundle: kite.v1.0.0, version: 1.0.0, channel: stable} to installed of the catalog in the configuration, or set minVersion: 1.1.0"
)

// TestReplacedInRegistry mirrors the catalogs of two months to a registry.
func TestReplacedInRegistry(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	source := w.chainCatalog("kites", "1.0.0", "1.1.0", "1.2.0", "1.3.0")
	first := w.kites("first.yaml", source, "packages: [{name: kite, maxVersion: 1.0.0}]")
	second := w.kites("second.yaml", source, "packages: [{name: kite}]")
	fixed := w.kites("fixed.yaml", source, "packages: [{name: kite}], installed: [{package: kite, bundle: kite.v1.0.0, version: 1.0.0, channel: stable}]")
	to := w.docker("/ocp")
	mirror := func(isc string, args ...string) []string {
		return append([]string{"mirror", "-c", isc, "--name", "ops", to}, args...)
	}
	if o := w.must(mirror(first, "--output", "json")...); len(w.replacements(o)) != 0 {
		t.Errorf("the first run replaces a catalog:\n%s", o.stdout)
	}
	w.mirror.ResetLog()
	w.must(mirror(first)...)
	if n := w.mirror.Requests()["GET blob"]; n != 0 {
		t.Errorf("a run without anything new read %d blobs", n)
	}
	w.says(w.must("plan", "-c", second, "--name", "ops", to).stdout, "Catalogs that are replaced\n  "+source+" as org/kites:v1 at "+w.mirror.Host+"/ocp/org/kites:v1\n    STRANDED: "+strandedKite+"\n      "+fixedKite)
	o := w.gantry("plan", "-c", second, "--name", "ops", to, "--on-strand=refuse", "--output", "json")
	if r := w.replacements(o); o.code != exitMismatch || len(r) != 1 || len(r[0].Stranded) != 1 {
		t.Errorf("plan --on-strand=refuse ended with %d:\n%s", o.code, o.stdout)
	}

	// Refused: nothing changes at the mirror.
	before := w.mirror.Requests()["PUT manifest"]
	w.refuse(exitMismatch, []string{strandedKite + "; " + fixedKite, "would strand 1 installed version of the one at " + w.mirror.Host + "/ocp/org/kites:v1, so nothing was published", "--on-strand to warn"},
		mirror(second, "--on-strand=refuse")...)
	w.refuse(exitMismatch, []string{strandedKite}, mirror(second, "--on-strand=refuse", "--dry-run")...)
	if after := w.mirror.Requests()["PUT manifest"]; after != before {
		t.Errorf("a refused run pushed %d manifests", after-before)
	}
	if o := w.must(mirror(fixed, "--on-strand=refuse", "--dry-run", "--output", "json")...); len(w.replacements(o)[0].Stranded) != 0 {
		t.Errorf("the fix does not help:\n%s", o.stdout)
	}
	o = w.gantry(mirror(second, "--on-strand=refuse", "--output", "json")...)
	if r := w.replacements(o); len(r) != 1 || len(r[0].Stranded) != 1 || r[0].Stranded[0].Fixes[0].MinVersion != "1.1.0" || r[0].Before == r[0].After {
		t.Errorf("got %+v", r)
	}

	// The default warns, and the next run has nothing to say.
	w.says(w.must(mirror(second)...).stderr, strandedKite+"; "+fixedKite)
	if o := w.must(mirror(second)...); strings.Contains(o.stderr, "replaced") {
		t.Errorf("the same catalog is replaced:\n%s", o.stderr)
	}

	// Older content needs a flag. A dry run says so, too.
	older := []string{"is older than the one at " + w.mirror.Host + "/ocp/org/kites:v1, so nothing was published: package kite, channel stable: the head goes back from kite.v1.3.0 to kite.v1.0.0", "set --allow-older"}
	w.refuse(exitMismatch, older, mirror(first)...)
	w.refuse(exitMismatch, older, mirror(first, "--dry-run")...)
	w.says(w.must("plan", "-c", first, "--name", "ops", to).stdout, "OLDER: package kite, channel stable: the head goes back from kite.v1.3.0 to kite.v1.0.0")
	plan := []string{"plan", "-c", first, "--name", "ops", to, "--on-strand=refuse"}
	w.refuse(exitMismatch, older[:1], plan...)
	w.must(append(plan, "--allow-older")...)
	w.refuse(exitUsage, []string{"--allow-older is for --on-strand refuse"}, "plan", "-c", first, "--name", "ops", to, "--allow-older")
	w.must(mirror(first, "--allow-older")...)

	// Another workspace reads the published catalog from the mirror.
	w.refuse(exitMismatch, []string{strandedKite}, mirror(second, "--on-strand=refuse", "--workspace", w.path("other"))...)
	w.refuse(exitUsage, []string{`--on-strand "stop"`, "known, warn, refuse"}, mirror(second, "--on-strand=stop")...)
	w.refuse(exitUsage, []string{"name a destination"}, "plan", "-c", second, "--on-strand=refuse")
	layout, notCompared := "oci://"+w.path("layout"), []string{"--on-strand refuse and --allow-older are for docker:// and file:// destinations"}
	w.refuse(exitUsage, notCompared, "mirror", "-c", second, layout, "--on-strand=refuse")
	w.refuse(exitUsage, notCompared, "mirror", "-c", second, layout, "--allow-older")
	w.refuse(exitUsage, notCompared, "plan", "-c", second, layout, "--on-strand=refuse")
}

// TestReplacedInArchives writes archives of two months, and imports them at a site.
func TestReplacedInArchives(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	source := w.chainCatalog("kites", "1.0.0", "1.1.0", "1.2.0", "1.3.0")
	first := w.kites("first.yaml", source, "packages: [{name: kite, maxVersion: 1.0.0}]")
	second := w.kites("second.yaml", source, "packages: [{name: kite}]")
	disk := func(n string) string { return fileScheme + w.path("disk"+n) }
	to := func(isc, n string, args ...string) []string {
		return append([]string{"mirror", "-c", isc, "--name", "ops", disk(n)}, args...)
	}
	w.must(to(first, "1")...)
	w.says(w.must("plan", "-c", second, "--name", "ops", disk("2")).stdout, source+" as org/kites:v1 at sequence 1\n    STRANDED: "+strandedKite+"\n      "+fixedKite)
	w.refuse(exitMismatch, []string{strandedKite + "; " + fixedKite, "of the one at sequence 1, so nothing was published"}, to(second, "2", "--on-strand=refuse")...)
	if found := w.glob("disk2/*"); len(found) > 0 {
		t.Errorf("a refused run wrote %v", found)
	}
	// Without the cache, the graphs that were kept are gone, and the catalog of the folder cannot be read again.
	w.says(w.must(to(second, "2")...).stderr, "at sequence 1 is replaced: "+strandedKite)
	w.refuse(exitMismatch, []string{"is older than the one at sequence 2"}, to(first, "3")...)
	w.refuse(exitMismatch, []string{"is older than the one at sequence 2"}, to(first, "3", "--full")...)
	w.must(to(first, "3", "--since", "1")...)

	site := func(args ...string) []string {
		return append([]string{"mirror", w.docker("/site"), "--workspace", w.path("site")}, args...)
	}
	w.must(site("--from", disk("1"))...)
	unknown := strandedKite + "; to fix it: the original catalog is not available to tell which bundles are missing; add {package: kite, bundle: kite.v1.0.0, version: 1.0.0, channel: stable} to installed of the catalog and plan again"
	w.refuse(exitMismatch, []string{unknown}, site("--from", disk("2"), "--on-strand=refuse")...)
	w.says(w.must(site("--from", disk("2"))...).stderr, unknown)
	w.refuse(exitMismatch, []string{"sequence 1 is older than sequence 2, which was imported before", "--allow-older"}, site("--from", disk("1"))...)
	w.says(w.must(site("--from", disk("1"), "--allow-older")...).stderr, "the head goes back from kite.v1.3.0 to kite.v1.0.0")
}
