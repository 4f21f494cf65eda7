package mirroring_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// TestPinned checks the configurations with digests that a run writes in the layout of oc mirror: one selects the same again,
// the other deletes what can be deleted of that.
func TestPinned(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	isc := s.Config("imageset.yaml", "  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    dependencies: true\n    packages: [{name: lantern}]\n"+
		"  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n  - name: images.example.net/tools/must-gather\n    tags: {newest: 1}\n")
	mirrored := func(config string) *mirroring.Result {
		return s.Mirrored(config, s.Docker("site"), func(o *mirroring.Options) {
			o.Name, o.Layout, o.Workspace = "imageset", workspace.OCMirrorLayout, s.Path("work")
		})
	}
	first := mirrored(isc)
	pinned := func(kind string) string {
		t.Helper()
		files, err := filepath.Glob(s.Path("work/working-dir/" + kind + "_pinned_*Z.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no file for %s, %v", kind, err)
		}
		return files[0]
	}
	catalog := "registry.example.com/acme/operator-index@" + string(first.Plan.Catalogs[0].SourceDigest)
	mirrored(isc)
	files, err := filepath.Glob(s.Path("work/working-dir/*_pinned_*.yaml"))
	if err != nil || len(files) != 2 { // the second run has the same
		t.Errorf("%v, %v", files, err)
	}
	again := mirrored(pinned("isc"))
	if c := again.Plan.Catalogs[0]; c.Source != catalog || c.Tag != "v4.20" || c.Digest != first.Plan.Catalogs[0].Digest || len(again.Plan.Images) != len(first.Plan.Images) {
		t.Errorf("the catalog is now %+v", c)
	}
	text, err := os.ReadFile(pinned("disc"))
	fail.On(t, err)
	d, err := imageset.ParseDeletion("disc.yaml", text)
	fail.On(t, err)
	fail.On(t, d.Usable())
	if op := d.Delete.Operators[0]; op.Catalog != catalog || op.TargetTag != "v4.20" || len(op.Packages) != 1 || len(d.Delete.AdditionalImages) != 1 || len(d.Warnings) > 0 {
		t.Errorf("%s", text)
	}
}
