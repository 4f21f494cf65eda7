package upgrade_test

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// If the upgrade path needs a channel that is not mirrored, bundles of the kept channels are no
// fix.
func TestFixAddsChannel(t *testing.T) {
	source := content(t, "new: p.v1.3.0<p.v1.2.0 p.v1.2.0", "old: p.v1.2.0<p.v1.1.0 p.v1.1.0<p.v1.0.0 p.v1.0.0")
	kept := keep(t, source, "packages: [{name: p, defaultChannel: new, channels: [{name: new, minVersion: 1.3.0}]}]")
	o := installed.Operator{Package: "p", Bundle: "p.v1.0.0", Version: "1.0.0", Generation: graph.V1}
	report := checked(t, []installed.Operator{o}, []upgrade.Catalog{{Name: "c", Kept: kept, Source: source}}, upgrade.Options{})
	want := []upgrade.Fix{{
		Catalog: "c", Package: "p", Channel: "old",
		Message: "add channel old to package p in the configuration, and {package: p, bundle: p.v1.0.0, version: 1.0.0} to installed of the catalog",
	}}
	fail.Diff(t, want, report.Operators[0].Paths[0].Fixes)
}
