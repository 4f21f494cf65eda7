package main

import (
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

// TestInstalledFlags checks the flags --installed and --dependencies, and the texts about what earlier runs recorded.
// Package planning tests what is kept.
func TestInstalledFlags(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	heads, csv, to := w.path("heads.yaml"), w.path("csv.json"), w.docker("/ocp")
	w.must("plan", "-c", heads, "--lock", w.path("fresh.json"))
	w.says(w.must("plan", "-c", heads, "--dependencies", "--installed", csv).stdout, "dependency", "installed", "gravel")
	w.must("mirror", "-c", heads, "--installed", csv, to)
	w.says(w.must("plan", "-c", heads).stderr, "keeping the upgrade paths of 1 operator (otter.v1.0.0) that clusters ran when --installed was last given", "--forget-installed")
	w.refuse(exitMismatch, []string{"would strand 1 operator that clusters run (otter.v1.0.0)", "--forget-installed", "--on-strand warn"}, "mirror", "--plan", w.path("fresh.json"), to)
	w.must("mirror", "--plan", w.path("fresh.json"), to, "--on-strand", "warn")
	w.must("mirror", "-c", heads, to, "--forget-installed")
	w.refuse(exitUsage, []string{"--installed", "heads.yaml"}, "plan", "-c", heads, "--installed", heads)
	w.refuse(exitUsage, []string{"--installed", "no such file"}, "plan", "-c", heads, "--installed", w.path("absent.json"))
	w.refuse(exitUsage, []string{"--dependencies"}, "mirror", "--plan", w.path("plan.json"), "--dependencies", to)
}

// TestCheckMirror checks what a mirror has: after a run with --installed, and after one that strands the operator.
func TestCheckMirror(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	source := w.chainCatalog("kites", "1.0.0", "1.1.0", "1.2.0", "1.3.0")
	isc, csv, to := w.kites("all.yaml", source, "packages: [{name: kite}]"), w.csvOf("csv.json", "1.0.0"), w.docker("/ocp")
	w.mkdir("fixed") // a configuration that would close the gap
	fixed := w.kites("fixed/all.yaml", source, "packages: [{name: kite}], installed: [{package: kite, bundle: kite.v1.0.0, channel: stable}]")
	const reaches, stranded = "kite.v1.0.0 (OLM classic, kites): reaches the head", "kite.v1.0.0 (OLM classic, kites): STRANDED"
	now, elsewhere := "What "+to+" has now:\n", " --workspace "+w.path("elsewhere")
	check := func(code int, args string, words ...string) {
		t.Helper()
		o := w.gantry(append([]string{"check"}, strings.Fields(args)...)...)
		w.says(o.stdout+o.stderr, words...)
		if o.code != code {
			t.Errorf("gantry check %s ended with %d, want %d\n%s%s", args, o.code, code, o.stdout, o.stderr)
		}
	}
	w.must("mirror", "-c", isc, to, "--installed", csv)
	check(exitOK, to+" --installed "+csv+elsewhere, reaches)
	check(exitOK, to+elsewhere, "reaches the head", "--installed is not given: checking 1 operator (kite.v1.0.0)")
	check(exitOK, "-c "+isc+" --installed "+csv, reaches+"\n", now+reaches)
	check(exitMismatch, "-c "+isc+" --installed "+csv+" "+to+elsewhere, stranded, now+reaches) // a fresh workspace keeps no path

	w.must("mirror", "-c", isc, to, "--forget-installed")
	check(exitMismatch, to+" --installed "+csv+elsewhere, stranded)
	check(exitMismatch, "-c "+isc+" --installed "+csv, now+stranded, "1 installed operator has no upgrade path")
	check(exitMismatch, "-c "+fixed+" --installed "+csv, reaches, now+stranded, to+": with this mirror 1 installed operator has no upgrade path", "mirror again")
	w.must("mirror", "-c", fixed, "--name", "all", to)
	check(exitOK, "-c "+fixed+" --installed "+csv, reaches, now+reaches)

	// A registry without records is searched.
	w.mirror.Script(registrytest.Rule{Path: "/v2/ocp/gantry-image-sets/", Action: registrytest.Refuse(http.StatusNotFound, "NAME_UNKNOWN")})
	check(exitOK, to+" --installed "+csv+elsewhere, reaches)
	w.mirror.Script()
	check(exitUsage, w.docker("/other")+" --installed "+csv, "has no catalogs")
	check(exitUsage, to+" "+w.docker("/other")+" --installed "+csv, "a mirror cannot be checked together")
	w.mirror.Shut()
	check(exitOK, "-c "+fixed+" --installed "+csv+" --retry-times 0", reaches, "the catalogs that "+to+" has now were not checked")
}
