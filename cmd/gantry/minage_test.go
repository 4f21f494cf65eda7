package main

import (
	"os"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestMinAge checks the flag: its values, and that the plan is not the one of the configuration.
func TestMinAge(t *testing.T) {
	t.Parallel()
	long(t) // packages imageset and pkg/plan/build test the ages
	w := newFixture(t, registrytest.Options{})
	isc, lock := w.path("imageset.yaml"), w.path("plan.json")
	for _, age := range []string{"soon", "5h", "0d"} {
		w.refuse(exitUsage, []string{"--min-age: ", "whole days"}, "plan", "-c", isc, "--min-age", age)
	}
	if o := w.must("plan", "-c", isc, "--min-age", "72h"); !strings.Contains(o.stderr, "or --min-age change it") {
		t.Errorf("%s", o.stderr)
	}
	w.must("plan", "-c", isc, "--min-age", "72h", "--lock", lock)
	w.refuse(exitUsage, []string{"--min-age"}, "mirror", "--plan", lock, w.docker("/a"), "--min-age", "3d")
	w.must("mirror", "-c", isc, w.docker("/a"), "--min-age", "3d")
	w.must("verify", "-c", isc, w.docker("/a"), "--min-age", "3d")

	flagged := w.read("plan.json")
	if err := os.WriteFile(isc, []byte(strings.Replace(w.read("imageset.yaml"), "\nmirror:\n", "\nmirror:\n  minAge: 72h\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := w.must("plan", "-c", isc, "--lock", lock, "--workspace", w.path("other")); strings.Contains(o.stderr, "not saved") || w.read("plan.json") != flagged {
		t.Errorf("the plan is not the one of the flag, or was not saved: %s", o.stderr)
	}
	if !strings.Contains(w.read("imageset.yaml"), "minAge: 72h") {
		t.Fatal("the configuration has no minAge")
	}
}

// TestPlannedErrata checks that labels of images are listed.
func TestPlannedErrata(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	isc := w.path("imageset.yaml")
	if o := w.must("plan", "-c", isc); strings.Contains(o.stdout, "Errata") {
		t.Errorf("%s", o.stdout)
	}
	if o := w.must("plan", "-c", isc, "--errata"); !strings.Contains(o.stdout, "\nErrata\n") {
		t.Errorf("%s", o.stdout)
	}
}

// TestMinAgeOfOtherCommands: what shows a selection applies the minimum age of the configuration.
func TestMinAgeOfOtherCommands(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	text := `{"schema":"olm.package","name":"kite","defaultChannel":"stable"}` +
		`{"schema":"olm.channel","package":"kite","name":"stable","entries":[{"name":"kite.v1.0.0"},{"name":"kite.v1.1.0","replaces":"kite.v1.0.0"}]}`
	for version, created := range map[string]time.Time{"1.0.0": time.Now().AddDate(0, 0, -30), "1.1.0": time.Now()} {
		bundle, err := registrytest.BundleImage("kite", version)
		if err != nil {
			t.Fatal(err)
		}
		dated, err := mutate.CreatedAt(bundle, v1.Time{Time: created})
		if err != nil {
			t.Fatal(err)
		}
		text += `{"schema":"olm.bundle","package":"kite","name":"kite.v` + version + `","image":"` + w.push("registry.example.com/kites/bundle:v"+version, dated) +
			`","properties":[{"type":"olm.package","value":{"packageName":"kite","version":"` + version + `"}}]}`
	}
	w.mkdir("kites")
	w.write("kites/catalog.json", text)
	catalog := "dir://" + w.path("kites")
	for _, tc := range []struct{ age, head, other string }{{"", "kite.v1.1.0", "kite.v1.0.0"}, {"  minAge: 3d\n", "kite.v1.0.0", "kite.v1.1.0"}} {
		isc := w.config("kites.yaml", tc.age+"  operators:\n  - {catalog: '"+catalog+"', packages: [{name: kite}]}\n")
		out := w.must("catalog", "filter", "-c", isc, "--output-dir", w.path("filtered"+tc.head)).stdout
		if tree := w.tree("filtered" + tc.head); len(tree) == 0 {
			t.Error(out)
		} else {
			for _, text := range tree {
				if !strings.Contains(text, tc.head) || strings.Contains(text, `"name": "`+tc.other+`"`) {
					t.Errorf("with %q, the filtered catalog is\n%s", tc.age, text)
				}
			}
		}
		w.says(w.must("graph", catalog, "kite", "-c", isc, "-o", "json").stdout, "The mirror keeps 1 bundle in 1 channel.")
		running := w.write("csv.json", `{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"kite.v1.0.0","namespace":"kites"},"spec":{"version":"1.0.0"},"status":{"phase":"Succeeded"}}]}`)
		checked := w.gantry("check", "-c", isc, "--installed", running, "-o", "json").stdout
		if offered := strings.Contains(checked, "kite.v1.1.0"); offered != (tc.head == "kite.v1.1.0") || !strings.Contains(checked, "kite.v1.0.0") {
			t.Errorf("with %q, gantry check prints\n%s", tc.age, checked)
		}
	}
}
