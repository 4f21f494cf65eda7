package removal_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/admission"
)

// kites is a catalog of one package, whose versions a test publishes, and a configuration that selects it.
type kites struct{ *mirrortest.Site }

func newKites(t *testing.T) *kites {
	t.Helper()
	s := mirrortest.New(t, registrytest.Options{})
	fail.On(t, os.Mkdir(s.Path("kites"), 0o750))
	return &kites{s}
}

func (s *kites) config(installed string) string {
	return s.Config("kites.yaml", "  operators:\n  - {catalog: 'dir://"+s.Path("kites")+"', targetCatalog: org/kites, targetTag: v1, packages: [{name: kite}]"+installed+"}\n")
}

// publish publishes a version with an image instead of those before.
func (s *kites) publish(version, image string) {
	s.Write("kites/catalog.yaml", fmt.Sprintf(`---
{schema: olm.package, name: kite, defaultChannel: stable}
---
{schema: olm.channel, package: kite, name: stable, entries: [{name: kite.v%[1]s}]}
---
{schema: olm.bundle, package: kite, name: kite.v%[1]s, image: 'images.example.net/%[2]s', properties: [{type: olm.package, value: {packageName: kite, version: %[1]s}}]}
`, version, image))
}

// TestPruneKeepsInstalled checks that the images of an operator stay that clusters run, by the record or by the configuration,
// although the publisher removed its version.
func TestPruneKeepsInstalled(t *testing.T) {
	t.Parallel()
	s := newKites(t)
	csv := s.Write("csv.json", `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
		"metadata": {"name": "kite", "namespace": "kite"}, "spec": {"name": "kite", "channel": "stable"}, "status": {"installedCSV": "kite.v1.0.0"}}]}`)
	warned := func(o *mirroring.Options) { o.OnStrand = admission.OnStrandWarn }
	for name, tc := range map[string]struct {
		installed   string // in the configuration
		first, last func(*mirroring.Options)
	}{
		"by the record":           {"", func(o *mirroring.Options) { o.Installed = []string{csv} }, func(o *mirroring.Options) { o.ForgetInstalled = true }},
		"by bundle, in the file":  {", installed: [{package: kite, bundle: kite.v1.0.0}]", warned, warned},
		"by version, in the file": {", installed: [{package: kite, version: 1.0.0}]", warned, warned},
	} {
		s.publish("1.0.0", "tools/netcheck:1.4")
		s.Mirrored(s.config(tc.installed), s.Docker("site"), tc.first, func(o *mirroring.Options) { o.AllowOlder = true })
		s.publish("2.0.0", "tools/must-gather:4.20")
		s.Mirrored(s.config(tc.installed), s.Docker("site"), warned)
		pruned(s.Site, yes)
		if !s.Has("site", "netcheck") {
			t.Errorf("%s: the bundle that clusters run was deleted", name)
		}
		s.Mirrored(s.config(""), s.Docker("site"), tc.last)
		pruned(s.Site, yes)
		if s.Has("site", "netcheck") {
			t.Errorf("%s: the bundle stays that no cluster runs", name)
		}
	}
}
