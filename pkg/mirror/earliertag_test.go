package mirror

import (
	"context"
	"errors"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// taggingRegistry is a memoryRegistry that can add tags, or fails to.
type taggingRegistry struct {
	*memoryRegistry
	err error
}

func (r *taggingRegistry) AddTag(_ context.Context, repository string, desc ocispec.Descriptor, tag string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.tags[repository+":"+tag] = desc.Digest
	}
	return r.err
}

// TestEarlierTags mirrors to a registry that an earlier version, or oc mirror, filled. The image is present and
// gets a tag of its own; if that fails, it is pushed as usual. Comparing changes nothing.
func TestEarlierTags(t *testing.T) {
	for name, failure := range map[string]error{"added": nil, "refused": errors.New("refused")} {
		m := newMaker(t)
		d := m.image("pinned")
		m.add("org/a", plan.ReferrersTag(d), d)
		registry := &taggingRegistry{newMemoryRegistry(), failure}
		mustRun(t, m.plan(), m.source(), registry, Options{})
		now := m.plan().WithDigestTags()
		present := func() bool {
			missing, err := Verify(t.Context(), now, registry, Options{})
			fail.On(t, err)
			return len(missing) == 0
		}
		to, err := Compare(t.Context(), now, registry, Options{})
		if err != nil || to.Images != 0 || !present() {
			t.Errorf("%s: %+v, %v", name, to, err)
		}
		own := func() bool {
			ok, err := registry.HasManifest(t.Context(), "org/a", plan.DigestTag(d), ocispec.Descriptor{Digest: d})
			return ok && err == nil
		}
		if own() {
			t.Errorf("%s: the comparison added a tag", name)
		}
		rep := mustRun(t, now, m.source(), registry, Options{})
		if rep.UpToDate() != (failure == nil) || rep.BlobsCopied != 0 || !own() || !present() {
			t.Errorf("%s: %+v; its own tag: %t", name, rep, own())
		}
	}
}
