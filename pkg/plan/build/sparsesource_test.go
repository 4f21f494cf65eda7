package build

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestSparseSource plans an image that is sparse at its source, such as a mirror of some platforms: with the
// platforms that are there, it is mirrored, and without, the plan says which platform is missing.
func TestSparseSource(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.push("quay.io/org/multi:v1", w.index("amd64", "arm64"))
	w.push("quay.io/org/other:v1", w.image("other"))
	arm := w.image("base", "arm64")
	delete(w.repos["quay.io/org/multi"], arm.Digest)

	const stanza = "  additionalImages:\n  - name: quay.io/org/other:v1\n  - name: quay.io/org/multi:v1\n"
	p := w.makePlan(stanza)
	const want = "the source does not have all of its index (a sparse index): linux/arm64 is missing; select the platforms that it has, or another source: "
	if len(p.Missing) != 1 || !strings.HasPrefix(p.Missing[0].Message, want) {
		t.Errorf("missing: %+v", p.Missing)
	}
	p = w.makePlan(stanza + "    platforms: [{os: linux, architecture: amd64}]\n")
	sparse := 0
	for _, m := range p.Manifests {
		if m.Sparse {
			sparse++
		}
	}
	if len(p.Missing) != 0 || len(p.Images) != 2 || sparse != 1 {
		t.Errorf("with platforms: missing %+v, %d images, %d sparse indexes", p.Missing, len(p.Images), sparse)
	}
	p = w.makePlan(stanza + "    platforms: [{os: linux, architecture: arm64}]\n")
	if len(p.Missing) != 1 || p.Missing[0].Kind != plan.AdditionalImage {
		t.Errorf("with the platform that is missing: %+v", p.Missing)
	}
}
