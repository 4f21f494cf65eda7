package upgrade_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
)

// Edges refer to names. An operator known only by its version is the bundle of that version, even
// if the mirror does not have it.
func TestOnlyVersionKnown(t *testing.T) {
	source := content(t, "stable: p.v1.2.0<p.v1.1.0 p.v1.1.0<p.v1.0.0 p.v1.0.0")
	kept := keep(t, source, "packages: [{name: p, minVersion: 1.1.0}]")
	for version, want := range map[string]struct {
		bundle  string
		outcome upgrade.Outcome
	}{
		"1.0.0": {"p.v1.0.0", upgrade.ReachesHead}, "1.1.0": {"p.v1.1.0", upgrade.ReachesHead},
		"1.2.0": {"p.v1.2.0", upgrade.AtHead}, "0.9.0": {"", upgrade.Stranded},
	} {
		for _, generation := range []graph.Generation{graph.Classic, graph.V1} {
			o := installed.Operator{Package: "p", Version: version, Generation: generation}
			report := checked(t, []installed.Operator{o}, []upgrade.Catalog{{Name: "c", Kept: kept, Source: source}}, upgrade.Options{})
			a := report.Operators[0]
			if diff := cmp.Diff(want.bundle+" "+string(want.outcome), a.Bundle+" "+string(a.Outcome)); diff != "" {
				t.Errorf("%s, %v: %s", version, generation, diff)
			}
		}
	}
}
