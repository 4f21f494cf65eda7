package main

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestMinAge checks the flag: its values, and that the plan is not the one of the configuration. Packages imageset and
// pkg/plan/build test the ages.
func TestMinAge(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	isc := w.config("small.yaml", storeOnly)
	for _, age := range []string{"soon", "5h", "0d"} {
		w.refuse(exitUsage, []string{"--min-age: ", "whole days"}, "plan", "-c", isc, "--min-age", age)
	}
	o := w.must("plan", "-c", isc, "--errata", "--min-age", "72h", "--lock", w.path("flag.json"))
	w.says(w.must("plan", "-c", isc, "--min-age", "72h").stderr, "or --min-age change it")
	w.says(o.stdout, "\nErrata\n")
	w.refuse(exitUsage, []string{"--min-age"}, "mirror", "--plan", w.path("flag.json"), w.docker("/a"), "--min-age", "3d")
	w.must("mirror", "-c", isc, w.docker("/a"), "--min-age", "3d")
	w.must("verify", "-c", isc, w.docker("/a"), "--min-age", "3d")
	o = w.must("plan", "-c", w.config("small.yaml", "  minAge: 72h\n"+storeOnly), "--lock", w.path("field.json"))
	if strings.Contains(o.stderr, "not saved") || strings.Contains(o.stdout, "Errata") || w.read("flag.json") != w.read("field.json") {
		t.Errorf("the plan is not the one of the flag, or was not saved: %s", o.stderr)
	}
}
