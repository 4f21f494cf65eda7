package mirroring_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// TestDryRunFiles checks the files of a dry run in the layout of oc mirror: a signature is not listed, and without missing
// images there is no missing.txt, also if there was one. Cluster resources are written until the mirror has something.
func TestDryRunFiles(t *testing.T) {
	t.Parallel()
	s := mirrortest.Empty(t)
	s.Write("registries.conf", "[[registry]]\nprefix = \"registry.example.com\"\nlocation = \""+s.Source.Host+"/registry.example.com\"\ninsecure = true\n[[registry]]\nlocation = \""+s.Mirror.Host+"\"\ninsecure = true\n")
	tag := "v1"
	for _, kind := range []string{"application/vnd.example.tool", "application/vnd.dev.cosign.simplesigning.v1+json"} {
		raw, err := json.Marshal(ocispec.Manifest{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: kind,
			Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{ocispec.DescriptorEmptyJSON},
		})
		fail.On(t, err)
		d, err := s.Source.Client().PushRaw(t.Context(), "registry.example.com/tools/x", tag, ocispec.MediaTypeImageManifest, raw, []byte("{}"))
		fail.On(t, err)
		tag = strings.Replace(d.String(), ":", "-", 1) + ".sig"
	}
	const mapping, missing = "work/working-dir/dry-run/mapping.txt", "work/working-dir/dry-run/missing.txt"
	for i, tc := range []struct {
		dry           bool
		target        string
		missing, sets string // what the files have: the target, and the place of mirror sets
	}{
		{true, "moved/x", "moved/x", "moved/x"},
		{true, "tools/x", "tools/x", "tools"},
		{false, "tools/x", "tools/x", "tools"}, // mapping.txt and missing.txt stay
		{true, "tools/x", "", "tools"},
		{true, "moved/x", "moved/x", "tools"},
	} {
		isc := s.Config("imageset.yaml", "  additionalImages:\n  - name: registry.example.com/tools/x:v1\n    targetRepo: "+tc.target+"\n")
		r := s.Mirrored(isc, s.Docker("site"), func(o *mirroring.Options) {
			o.Layout, o.Workspace, o.DryRun = workspace.OCMirrorLayout, s.Path("work"), tc.dry
		})
		if len(r.Plan.Images) != 2 {
			t.Fatalf("no signature in %+v", r.Plan.Images)
		}
		line := func(target string) string {
			return "docker://registry.example.com/tools/x:v1=" + s.Docker("site") + "/" + target + ":v1\n"
		}
		got := ""
		if s.Exists(missing) {
			got = s.Read(missing)
		}
		if tc.missing != "" {
			tc.missing = line(tc.missing)
		}
		fail.Diff(t, []string{line(tc.target), tc.missing}, []string{s.Read(mapping), got})
		if sets := s.Read("work/working-dir/cluster-resources/itms-oc-mirror.yaml"); !strings.Contains(sets, "/site/"+tc.sets+"\n") {
			t.Errorf("%d: %s is not in\n%s", i, tc.sets, sets)
		}
	}
}
