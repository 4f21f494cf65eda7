package mirror

import (
	"testing"

	"github.com/opencontainers/go-digest"
)

// TestRepairSendsOnlyWhatIsMissing takes single things from a complete mirror, and counts what a repair
// sends.
func TestRepairSendsOnlyWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name             string
		lose             func(m *maker, r *memoryRegistry)
		missing          int
		manifests, blobs int
	}{
		{"nothing", func(*maker, *memoryRegistry) {}, 0, 0, 0},
		{"a tag", func(_ *maker, r *memoryRegistry) { delete(r.tags, "org/b:v1") }, 1, 1, 0},
		{"a child", func(m *maker, r *memoryRegistry) { delete(r.manifests, key("org/multi", m.image("arm64"))) }, 1, 1, 0},
		{"an image", func(m *maker, r *memoryRegistry) {
			delete(r.tags, "other/extra:latest")
			delete(r.manifests, key("other/extra", m.image("extra")))
		}, 1, 1, 0},
		{"a blob of two images", func(m *maker, r *memoryRegistry) { delete(r.blobs, key("org/a", largest(m))) }, 2, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := sample(t)
			registry := newMemoryRegistry()
			mustRun(t, m.plan(), m.source(), registry, Options{})
			tc.lose(m, registry)
			registry.calls = map[string]int{}
			var found []MissingImage
			rep := mustRun(t, m.plan(), m.source(), registry, Options{Repair: true, Found: func(all []MissingImage) { found = all }})
			if len(found) != tc.missing || rep.Copied != tc.missing {
				t.Errorf("found %+v, copied %d, want %d", found, rep.Copied, tc.missing)
			}
			if rep.Manifests != int64(tc.manifests) || int(rep.BlobsCopied+rep.BlobsMounted) != tc.blobs {
				t.Errorf("sent %d manifests and %d blobs, want %d and %d (%v)", rep.Manifests, rep.BlobsCopied+rep.BlobsMounted, tc.manifests, tc.blobs, registry.calls)
			}
			if left, err := Verify(t.Context(), m.plan(), registry, Options{CheckBlobs: true}); err != nil || len(left) > 0 {
				t.Errorf("after the repair: %+v, %v", left, err)
			}
		})
	}
}

// largest returns the largest blob of the plan.
func largest(m *maker) digest.Digest {
	all := m.plan().Blobs
	base := all[0]
	for _, b := range all {
		if b.Size > base.Size {
			base = b
		}
	}
	return base.Digest
}
