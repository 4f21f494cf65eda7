package plan

import (
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestPartSizes checks that shared content counts for each part that needs it, and as own content of none.
func TestPartSizes(t *testing.T) {
	t.Parallel()
	of := digest.FromString
	p := &Plan{
		Blobs: []Blob{{of("base"), 100}, {of("a"), 10}, {of("b"), 1}},
		Manifests: []Manifest{
			{Digest: of("one"), Size: 1000, Blobs: []digest.Digest{of("base"), of("a")}},
			{Digest: of("two"), Size: 2000, Blobs: []digest.Digest{of("base"), of("b"), of("b")}},
		},
		Images: []Image{
			{Digest: of("one"), Reasons: []Reason{{Package: "kite"}, {Package: "kite", Bundle: "kite.v1"}}},
			{Digest: of("two"), Reasons: []Reason{{Package: "gull"}}},
			{Digest: of("two"), Reasons: []Reason{{List: "additionalImages"}}},
		},
	}
	got := p.PartSizes(func(_ *Image, r Reason) string { return r.Package })
	fail.Diff(t, map[string]PartSize{"kite": {1, 1, 1110, 1010}, "gull": {1, 1, 2101, 2001}}, got)
	p.Blobs = append(p.Blobs, p.Blobs[0])
	if got := p.PartSizes(func(_ *Image, r Reason) string { return r.Package }); got != nil {
		t.Errorf("sizes of a plan with a duplicate blob: %v", got)
	}
}
