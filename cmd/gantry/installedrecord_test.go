package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// csvOf writes what oc get csv prints for a cluster that runs a version of the package kite, and returns its path.
func (w *fixture) csvOf(name, version string) string {
	w.t.Helper()
	w.write(name, fmt.Sprintf(`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
 "metadata": {"name": "kite.v%s", "namespace": "kites", "labels": {"operators.coreos.com/kite.kites": ""}}, "spec": {"version": "%[1]s"}, "status": {"phase": "Succeeded"}}]}`, version))
	return w.path(name)
}

// keptIn returns the bundles of the package kite in a catalog.
func (w *fixture) keptIn(catalog string) string {
	w.t.Helper()
	var names []string
	for line := range strings.Lines(w.must("catalog", "render", catalog, "-o", "json").stdout) {
		var m struct{ Schema, Name string }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			w.t.Fatalf("%v in %s", err, line)
		}
		if m.Schema == "olm.bundle" {
			names = append(names, strings.TrimPrefix(m.Name, "kite."))
		}
	}
	return strings.Join(names, " ")
}

const (
	wholeKite = "v1.0.0 v1.1.0 v1.2.0 v1.3.0"
	toldKite  = "keeping the upgrade paths of 1 operator (kite.v1.0.0) that clusters ran when --installed was last given"
)

// TestInstalledIsRecorded mirrors with --installed once, and then as a scheduled run does, without it.
func TestInstalledIsRecorded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	source := w.chainCatalog("kites", "1.0.0", "1.1.0", "1.2.0", "1.3.0")
	isc, csv, to := w.kites("all.yaml", source, "packages: [{name: kite}]"), w.csvOf("csv.json", "1.0.0"), w.docker("/ocp")
	run := func(args ...string) []string { return append([]string{"mirror", "-c", isc, to}, args...) }
	kept := func(want string, args ...string) outcome {
		t.Helper()
		o := w.must(args...)
		if got := w.keptIn(w.mirror.Host + "/ocp/org/kites:v1"); got != want {
			t.Errorf("after gantry %v, the mirror has %q, want %q\n%s", args, got, want, o.stderr)
		}
		return o
	}
	o := kept(wholeKite, run("--installed", csv)...)
	if strings.Contains(o.stderr, "was last given") {
		t.Errorf("the record is used although the files are given:\n%s", o.stderr)
	}
	w.says(kept(wholeKite, run()...).stderr, toldKite, "--forget-installed")
	kept(wholeKite, run()...) // the second run without it, too
	w.says(w.must("plan", "-c", isc, to).stderr, toldKite)
	w.says(w.must("plan", "-c", isc).stderr, toldKite)
	w.says(w.must("plan", "-c", isc, to, "--workspace", w.path("other")).stderr, toldKite) // another host

	// Files about clusters replace the record, and the user may say that it is out of date.
	kept("v1.2.0 v1.3.0", run("--installed", w.csvOf("later.json", "1.2.0"))...)
	w.says(kept("v1.2.0 v1.3.0", run()...).stderr, "(kite.v1.2.0)")
	kept("v1.3.0", run("--forget-installed")...)
	kept("v1.3.0", run()...)
}

// TestRecordedOperatorsAreNotStranded runs what would take the path away from an operator that clusters run.
func TestRecordedOperatorsAreNotStranded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	source := w.chainCatalog("kites", "1.0.0", "1.1.0", "1.2.0", "1.3.0")
	isc, csv, to := w.kites("all.yaml", source, "packages: [{name: kite}]"), w.csvOf("csv.json", "1.0.0"), w.docker("/ocp")
	w.mkdir("bundle")
	w.write("bundle/other.yaml", "---\n{schema: olm.package, name: wren, defaultChannel: stable}\n---\n{schema: olm.channel, package: wren, name: stable, entries: [{name: wren.v1.0.0}]}\n---\n{schema: olm.bundle, package: wren, name: wren.v1.0.0, image: 'images.example.net/tools/netcheck:1.4', properties: [{type: olm.package, value: {packageName: wren, version: 1.0.0}}]}\n")
	other := w.config("other.yaml", "  operators:\n  - {catalog: 'dir://"+w.path("bundle")+"', targetCatalog: org/wrens, targetTag: v1, packages: [{name: wren}]}\n")
	w.must("plan", "-c", isc, "--name", "all", "--lock", w.path("heads.json"), "--workspace", w.path("fresh")) // knows nothing of clusters
	w.must("mirror", "-c", isc, "--name", "all", to, "--installed", csv)

	lost := []string{"would strand 1 operator that clusters run (kite.v1.0.0), so nothing was published", "--forget-installed", "--on-strand warn"}
	pushed := w.mirror.Requests()["PUT manifest"]
	w.refuse(exitMismatch, append(lost, "kite.v1.0.0, kite.v1.1.0: there is no upgrade path to the head kite.v1.3.0"), "mirror", "--plan", w.path("heads.json"), to)
	w.refuse(exitMismatch, lost, "mirror", "--plan", w.path("heads.json"), to, "--workspace", w.path("another"))
	w.refuse(exitMismatch, lost, "mirror", "-c", other, "--name", "all", to) // no catalog has the package
	w.refuse(exitMismatch, lost, "mirror", "-c", other, "--name", "all", to, "--dry-run")
	if n := w.mirror.Requests()["PUT manifest"]; n != pushed {
		t.Errorf("refused runs pushed %d manifests", n-pushed)
	}
	w.must("mirror", "--plan", w.path("heads.json"), to, "--on-strand", "warn")
	w.must("mirror", "-c", isc, "--name", "all", to, "--installed", csv)
	w.must("mirror", "--plan", w.path("heads.json"), to, "--forget-installed")
	w.must("mirror", "-c", other, "--name", "all", to) // no record is left
}

// TestInstalledIsRecordedOfArchives writes archives, and imports them at a site that knows what its clusters run.
func TestInstalledIsRecordedOfArchives(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	source := w.chainCatalog("kites", "1.0.0", "1.1.0", "1.2.0", "1.3.0")
	isc, csv := w.kites("all.yaml", source, "packages: [{name: kite}]"), w.csvOf("csv.json", "1.0.0")
	disk := func(n string) string { return fileScheme + w.path("disk"+n) }
	site := func(n string, args ...string) []string {
		return append([]string{"mirror", "--from", disk(n), w.docker("/site"), "--workspace", w.path("site")}, args...)
	}
	w.must("mirror", "-c", isc, disk("1"), "--installed", csv)
	w.says(w.must("mirror", "-c", isc, disk("2")).stderr, toldKite)
	w.must(site("1")...)
	w.must(site("2")...)
	if got := w.keptIn(w.mirror.Host + "/site/org/kites:v1"); got != wholeKite {
		t.Errorf("the next archive keeps %q", got)
	}

	// Another workspace on the connected side knows nothing.
	w.must("mirror", "-c", isc, disk("3"), "--workspace", w.path("fresh"), "--full")
	w.refuse(exitMismatch, []string{"would strand 1 operator that clusters run (kite.v1.0.0)"}, site("3", "--allow-older")...)
	w.must(site("3", "--allow-older", "--forget-installed")...)
}

// TestCheckMirror checks what a mirror has: after a run with --installed, and after one that strands the operator.
func TestCheckMirror(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	source := w.chainCatalog("kites", "1.0.0", "1.1.0", "1.2.0", "1.3.0")
	isc, csv, to := w.kites("all.yaml", source, "packages: [{name: kite}]"), w.csvOf("csv.json", "1.0.0"), w.docker("/ocp")
	const reaches, stranded = "kite.v1.0.0 (OLM classic, kites): reaches the head", "kite.v1.0.0 (OLM classic, kites): STRANDED"
	w.must("mirror", "-c", isc, to, "--installed", csv)
	now := "What " + to + " has now:\n"
	check := func(code int, words []string, args ...string) {
		t.Helper()
		o := w.gantry(append([]string{"check"}, args...)...)
		for _, word := range words {
			if !strings.Contains(o.stdout+o.stderr, word) {
				t.Errorf("gantry check %v does not print %q", args, word)
			}
		}
		if o.code != code || t.Failed() {
			t.Fatalf("gantry check %v ended with %d, want %d\n%s%s", args, o.code, code, o.stdout, o.stderr)
		}
	}
	elsewhere := []string{"--workspace", w.path("elsewhere")}
	at := func(args ...string) []string {
		return append(append([]string{to, "--installed", csv}, elsewhere...), args...)
	}
	check(exitOK, []string{reaches}, at()...)
	check(exitOK, []string{"kite.v1.0.0", "reaches the head", "--installed is not given: checking 1 operator (kite.v1.0.0)"}, append([]string{to}, elsewhere...)...)
	check(exitOK, []string{reaches + "\n", now + reaches}, "-c", isc, "--installed", csv)
	check(exitOK, []string{now + "kite.v1.0.0"}, "-c", isc)
	check(exitMismatch, []string{stranded, now + reaches}, append([]string{"-c", isc, "--installed", csv, to}, elsewhere...)...) // a fresh workspace keeps no path

	w.must("mirror", "-c", isc, to, "--forget-installed")
	check(exitMismatch, []string{stranded}, at()...)
	check(exitMismatch, []string{now + stranded, "1 installed operator has no upgrade path"}, "-c", isc, "--installed", csv)
	// A configuration that would close the gap has not been mirrored yet.
	w.mkdir("fixed")
	fixed := w.kites("fixed/all.yaml", source, "packages: [{name: kite}], installed: [{package: kite, bundle: kite.v1.0.0, channel: stable}]")
	check(exitMismatch, []string{reaches, now + stranded, to + ": with this mirror 1 installed operator has no upgrade path", "mirror again"}, "-c", fixed, "--installed", csv)
	w.must("mirror", "-c", fixed, "--name", "all", to)
	check(exitOK, []string{reaches, now + reaches}, "-c", fixed, "--installed", csv)

	// A registry without records is searched.
	w.mirror.Script(registrytest.Rule{Path: "/v2/ocp/gantry-image-sets/", Action: registrytest.Refuse(http.StatusNotFound, "NAME_UNKNOWN")})
	check(exitOK, []string{reaches}, at()...)
	w.mirror.Script()
	check(exitUsage, []string{"has no catalogs"}, w.docker("/other"), "--installed", csv)
	check(exitUsage, []string{"a mirror cannot be checked together"}, to, w.docker("/other"), "--installed", csv)
	w.mirror.Shut()
	check(exitOK, []string{reaches, "the catalogs that " + to + " has now were not checked"}, "-c", fixed, "--installed", csv, "--retry-times", "0")
}
