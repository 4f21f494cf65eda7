package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/admission"
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

const (
	strandedKite = "package kite, channel stable (OLM classic, OLM v1): kite.v1.0.0: there is no upgrade path to the head kite.v1.3.0"
	fixedKite    = "to fix it: keep kite.v1.1.0, kite.v1.2.0: add {package: kite, bundle: kite.v1.0.0, version: 1.0.0, channel: stable} to installed of the catalog in the configuration, or set minVersion: 1.1.0"
)

// TestReplacedCommand checks what plan and mirror print of catalogs that replace others. Package admission tests what is
// found.
func TestReplacedCommand(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	source := w.chainCatalog("kites", "1.0.0", "1.1.0", "1.2.0", "1.3.0")
	first := w.kites("first.yaml", source, "packages: [{name: kite, maxVersion: 1.0.0}]")
	second := w.kites("second.yaml", source, "packages: [{name: kite}]")
	to := w.docker("/ocp")
	plan := func(isc, to string, args ...string) []string {
		return append([]string{"plan", "-c", isc, "--name", "ops", to}, args...)
	}
	mirror := func(isc, to string, args ...string) []string {
		return append([]string{"mirror", "-c", isc, "--name", "ops", to}, args...)
	}
	w.must(mirror(first, to)...)
	w.says(w.must(plan(second, to)...).stdout, "Catalogs that are replaced\n  "+source+" as org/kites:v1 at "+w.mirror.Host+"/ocp/org/kites:v1\n    STRANDED: "+strandedKite+"\n      "+fixedKite)
	for _, args := range [][]string{plan(second, to, "--on-strand=refuse", "--output", "json"), mirror(second, to, "--on-strand=refuse", "--output", "json")} {
		o := w.gantry(args...)
		var r struct {
			Replaced []admission.ReplacedCatalog `json:"replaced"`
		}
		if err := json.Unmarshal([]byte(o.stdout), &r); err != nil || o.code != exitMismatch || len(r.Replaced) != 1 || len(r.Replaced[0].Stranded) != 1 {
			t.Errorf("%v ended with %d: %v\n%s", args, o.code, err, o.stdout)
		}
	}
	w.refuse(exitMismatch, []string{strandedKite + "; " + fixedKite, "--on-strand to warn"}, mirror(second, to, "--on-strand=refuse")...)
	w.says(w.must(mirror(second, to)...).stderr, strandedKite+"; "+fixedKite)
	w.refuse(exitMismatch, []string{"is older than the one at " + w.mirror.Host + "/ocp/org/kites:v1", "set --allow-older"}, mirror(first, to)...)
	w.says(w.must(plan(first, to)...).stdout, "OLDER: package kite, channel stable: the head goes back from kite.v1.3.0 to kite.v1.0.0")
	w.refuse(exitMismatch, []string{"is older than"}, plan(first, to, "--on-strand=refuse")...)
	w.must(plan(first, to, "--on-strand=refuse", "--allow-older")...)
	const notCompared = "--on-strand refuse and --allow-older are for docker:// and file:// destinations"
	for words, args := range map[string][]string{
		"--allow-older is for --on-strand refuse": plan(first, to, "--allow-older"),
		"known, warn, refuse":                     mirror(second, to, "--on-strand=stop"),
		"name a destination":                      {"plan", "-c", second, "--on-strand=refuse"},
		notCompared:                               plan(second, "oci://"+w.path("layout"), "--on-strand=refuse"),
	} {
		w.refuse(exitUsage, []string{words}, args...)
	}
}
