package upgrade_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A new installation does not get the deprecated newest bundle, but an update does. An operator
// that runs it is not stranded.
func TestInstalledDeprecatedHead(t *testing.T) {
	c, err := catalog.Read(t.Context(), fstest.MapFS{"c.yaml": {Data: []byte(`---
{schema: olm.package, name: p, defaultChannel: s}
---
{schema: olm.channel, package: p, name: s, entries: [{name: p.v1}, {name: p.v2, replaces: p.v1}, {name: p.v3, replaces: p.v2}]}
---
{schema: olm.bundle, package: p, name: p.v1, image: a/b, properties: [{type: olm.package, value: {packageName: p, version: 1.0.0}}]}
---
{schema: olm.bundle, package: p, name: p.v2, image: a/b, properties: [{type: olm.package, value: {packageName: p, version: 2.0.0}}]}
---
{schema: olm.bundle, package: p, name: p.v3, image: a/b, properties: [{type: olm.package, value: {packageName: p, version: 3.0.0}}]}
---
schema: olm.deprecations
package: p
entries:
- {reference: {schema: olm.bundle, name: p.v2}, message: old}
- {reference: {schema: olm.bundle, name: p.v3}, message: old}
`)}}, catalog.Options{})
	fail.On(t, err)
	for bundle, want := range map[string]upgrade.Outcome{"p.v1": upgrade.AtHead, "p.v2": upgrade.Ahead, "p.v3": upgrade.Ahead} {
		o := installed.Operator{Package: "p", Bundle: bundle, Version: bundle[3:] + ".0.0", Generation: graph.V1}
		report := checked(t, []installed.Operator{o}, []upgrade.Catalog{{Name: "c", Kept: c, Source: c}}, upgrade.Options{})
		if diff := cmp.Diff(want, report.Operators[0].Outcome); diff != "" {
			t.Errorf("%s: %s %+v", bundle, diff, report.Operators[0].Paths)
		}
	}
}
