package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestFeatures checks that the lists, plan and explain show what operators declare. Package pkg/plan/build tests the plan file.
func TestFeatures(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t, registrytest.Start(t, registrytest.Options{}))
	bundle := func(version, annotations string) string {
		return `{"schema":"olm.bundle","package":"otter","name":"otter.v` + version + `","image":"registry.example.com/otter/bundle:v1","properties":[` +
			`{"type":"olm.package","value":{"packageName":"otter","version":"` + version + `"}},{"type":"olm.csv.metadata","value":{"annotations":{` + annotations + `},"installModes":[{"type":"AllNamespaces","supported":true}]}}]}`
	}
	catalog := `{"schema":"olm.package","name":"otter","defaultChannel":"stable"}{"schema":"olm.channel","package":"otter","name":"stable","entries":[{"name":"otter.v1.0.0"},{"name":"otter.v1.1.0","replaces":"otter.v1.0.0"}]}` +
		bundle("1.0.0", `"operators.openshift.io/infrastructure-features":"[\"Disconnected\"]"`) +
		bundle("1.1.0", `"features.operators.openshift.io/disconnected":"false","features.operators.openshift.io/fips-compliant":"true"`)
	img, err := registrytest.CatalogImage(fstest.MapFS{"otter.json": {Data: []byte(catalog)}})
	fail.On(t, err)
	const index = "registry.example.com/otter/index:v1"
	w.push(index, img)
	empty, err := registrytest.Image("otter/bundle")
	fail.On(t, err)
	w.push("registry.example.com/otter/bundle:v1", empty)
	const head = "fips-compliant, not disconnected"
	for _, args := range [][]string{{"list", "operators", "--catalog", index}, {"catalog", "list", index}} {
		wide, plain := w.must(append(args, "-o", "wide")...).stdout, w.must(args...).stdout
		if lines := strings.Split(wide, "\n"); !strings.Contains(lines[0], "FEATURES") || !strings.Contains(wide, head) || strings.Contains(plain, head) {
			t.Errorf("%v: wide %q, plain %q", args, wide, plain)
		}
	}
	w.says(w.must("catalog", "list", index, "otter", "-o", "wide").stdout, "otter.v1.0.0", "  disconnected\n", head)
	isc := w.config("isc.yaml", "  operators:\n  - catalog: "+index+"\n    full: true\n")
	w.must("plan", "-c", isc, "--lock", w.path("plan.json"))
	w.says(w.must("plan", "-c", isc).stdout, "Features that operators declare\n    otter.v1.1.0  "+head+"\n", "1 package declares that it does not support disconnected clusters: otter (otter.v1.1.0)")
	// The features of all bundles are in the cache of the workspace, and unknown without it.
	w.says(w.must("explain", "otter.v1.0.0", "--plan", w.path("plan.json")).stdout, "  declares disconnected\n")
	w.says(w.must("explain", "otter.v1.1.0", "--plan", w.path("plan.json"), "--workspace", w.path("none")).stdout, "its features are unknown")
}
