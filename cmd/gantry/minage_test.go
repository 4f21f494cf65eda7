package main

import (
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestMinAge checks the flag: its values, and that the plan is not the one of the configuration. Packages imageset and
// plan/build test the ages.
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
