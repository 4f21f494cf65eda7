package build

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestGoldenPlans compares plans with files, byte by byte: the same input gives the same plan, in
// this version and in the next. After an intended change, such as of the text of a note, write the
// files again with UPDATE_GOLDEN=1.
func TestGoldenPlans(t *testing.T) {
	t.Parallel()
	catalogs := threePackages(t)
	releases := newReleaseFixture(t, late())
	smaller := newFixture(t)
	smaller.rewriteCatalog()
	for _, tt := range []struct {
		file string
		plan func() *plan.Plan
	}{
		{"packages.json", func() *plan.Plan { return catalogs.makePlan(chosen) }},
		{"lists.json", func() *plan.Plan {
			return catalogs.makePlan("  operators: [{catalog: '" + cutIndex + "', dependencies: true, packages: [{name: c}]}, {catalog: 'dir:///a'}]\n" +
				"  additionalImages: [{name: 'quay.io/org/b-operand:v1', targetRepo: own/name}, {name: 'quay.io/org/none:v1'}]\n" +
				"  blockedImages: [{name: 'org/shared'}]\n")
		}},
		{"reduced.json", func() *plan.Plan {
			return catalogs.reduce(catalogs.lose(catalogs.makePlan(chosen), "quay.io/org/b-operand")).Plan
		}},
		{"rewritten.json", func() *plan.Plan {
			return smaller.makePlan("  operators: [{catalog: 'dir:///cat', " + onlyAMD + "}]\n")
		}},
		{"releases.json", func() *plan.Plan {
			return releases.platform("    graph: true\n    channels: [{name: fast-4.21, minVersion: 4.20.1}]\n")
		}},
		{"multi.json", func() *plan.Plan {
			return releases.platform("    platforms: [{os: linux, architecture: arm64}]\n    channels: [{name: fast-4.21}]\n", Options{IgnoreReleaseSignature: true})
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			got := jsonOf(t, tt.plan())
			file := filepath.Join("testdata", "golden", tt.file)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				fail.On(t, os.MkdirAll(filepath.Dir(file), 0o755))
				fail.On(t, os.WriteFile(file, got, 0o644))
			}
			want, err := os.ReadFile(file)
			fail.On(t, err)
			if !bytes.Equal(got, want) {
				t.Errorf("the plan differs from %s:\n%s", file, got)
			}
		})
	}
}
