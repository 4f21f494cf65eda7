package build

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestUnlabeledOperatorIsKept checks that the path of an installed operator is kept although its object does not
// name its package, and that one is noted if no package of the catalogs has its bundle.
func TestUnlabeledOperatorIsKept(t *testing.T) {
	w := needy(t)
	const text = "  operators:\n  - catalog: dir:///gives\n    packages: [{name: dep}]\n"
	read, err := installed.Read("csv.json", strings.NewReader(`{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"dep.v1.0.0","namespace":"n"},"spec":{"version":"1.0.0"}},
{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"far.v1.0.0","namespace":"n"},"spec":{"version":"1.0.0"}}]}`))
	fail.On(t, err)
	cfg := parseConfig(t, text)
	s, err := Select(t.Context(), cfg, w.sources(), Options{Installed: read.Operators})
	fail.On(t, err)
	if b := s.Catalogs[0].Result.Catalog.Package("dep").Bundle("dep.v1.0.0"); b == nil {
		t.Error("dep.v1.0.0 is not kept")
	}
	const want = "csv.json: ClusterServiceVersion n/far.v1.0.0: no update path is kept from it: its package is unknown, and"
	noted(t, s.Notes, want)
	// Gantry check finds the same packages.
	found, err := Identify(t.Context(), cfg, w.sources(), read.Operators)
	if err != nil || len(found) != 2 || found[0].Package != "dep" || found[1].Package != "" {
		t.Errorf("got %+v, %v", found, err)
	}
	// A package that the configuration does not select is found, too.
	found, err = Identify(t.Context(), parseConfig(t, "  operators:\n  - catalog: dir:///gives\n    packages: [{name: other}]\n"), w.sources(), read.Operators)
	if err != nil || found[0].Package != "dep" {
		t.Errorf("got %+v, %v", found, err)
	}
}
