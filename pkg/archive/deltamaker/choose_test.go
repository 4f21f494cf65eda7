package deltamaker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// blob returns a blob that only has a digest and a size.
func blob(name string, size int64) ocispec.Descriptor {
	return ocispec.Descriptor{Digest: digest.FromString(name), Size: size}
}

// image adds a manifest with these blobs, the config first, to a source.
func (m *memory) image(blobs ...ocispec.Descriptor) ocispec.Descriptor {
	raw, _ := json.Marshal(ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: blobs[0], Layers: blobs[1:]}) // cannot fail
	return m.add(raw)
}

// TestChanges checks which blobs of the site a new layer is compared with, in which order.
func TestChanges(t *testing.T) {
	t.Parallel()
	const k = 1 << 20
	source := newMemory()
	// The repository has two programs. Their layers have different sizes.
	rhel := blob("rhel", 80*k)
	small := source.image(blob("config small", 3000), rhel, blob("small 1", 4*k), blob("extra 1", 100<<10))
	large := source.image(blob("config large", 3000), rhel, blob("large 1", 90*k))
	lost := digest.FromString("an image that is gone from the source")
	now := source.image(blob("config now", 3000), rhel, blob("small 2", 5*k), blob("extra 2", 110<<10))
	site := &state.Receipt{Repositories: []state.Repository{{
		Name: "org/apps", Images: []state.Image{{Digest: small.Digest}, {Digest: large.Digest}, {Digest: lost}},
		Blobs: []state.Blob{
			{Digest: rhel.Digest, Size: rhel.Size}, {Digest: digest.FromString("small 1"), Size: 4 * k},
			{Digest: digest.FromString("extra 1"), Size: 100 << 10}, {Digest: digest.FromString("large 1"), Size: 90 * k},
		},
	}}}
	p := planOf(t, now, []ocispec.Descriptor{blob("config now", 3000), rhel, blob("small 2", 5*k), blob("extra 2", 110<<10)})
	c := &Chooser{Plan: p, Site: site, Source: source, IsNew: func(d digest.Digest) bool { return d != rhel.Digest }}
	changes, err := c.Changes(t.Context())
	fail.On(t, err)
	names := map[digest.Digest]string{}
	for _, n := range []string{"rhel", "small 1", "small 2", "large 1", "extra 1", "extra 2"} {
		names[digest.FromString(n)] = n
	}
	got := map[string][]string{}
	for _, change := range changes {
		for _, base := range change.Candidates {
			got[names[change.Blob.Digest]] = append(got[names[change.Blob.Digest]], names[base.Digest])
			if base.Repository != "org/apps" || base.Source != "src.example.com/org/apps:v2" {
				t.Errorf("%+v", base)
			}
		}
	}
	if want := []string{"small 1", "large 1", "rhel", "extra 1"}; !slices.Equal(got["small 2"], want) {
		t.Errorf("the program is compared with %v, want %v", got["small 2"], want)
	}
	if list := got["extra 2"]; len(list) == 0 || list[0] != "extra 1" {
		t.Errorf("the other layer is compared with %v", list)
	}
	fail.Diff(t, 2, len(changes))
	if base, ok := c.Lookup(digest.FromString("large 1")); !ok || base.Size != 90*k {
		t.Errorf("Lookup = %+v", base)
	}
}

// TestOldIndex checks that the children of an index are compared.
func TestOldIndex(t *testing.T) {
	t.Parallel()
	source := newMemory()
	child := source.image(blob("config", 3000), blob("layer 1", 50<<10))
	child.MediaType = ocispec.MediaTypeImageManifest
	raw, err := json.Marshal(ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{child}})
	fail.On(t, err)
	index := source.add(raw)
	now := source.image(blob("config now", 3000), blob("layer 2", 50<<10))
	site := &state.Receipt{Repositories: []state.Repository{{
		Name: "org/apps", Images: []state.Image{{Digest: index.Digest}}, Blobs: []state.Blob{{Digest: digest.FromString("layer 1"), Size: 50 << 10}},
	}}}
	c := &Chooser{Plan: planOf(t, now, []ocispec.Descriptor{blob("config now", 3000), blob("layer 2", 50<<10)}), Site: site, Source: source, IsNew: func(digest.Digest) bool { return true }}
	changes, err := c.Changes(t.Context())
	if err != nil || len(changes) != 1 || len(changes[0].Candidates) != 1 || changes[0].Candidates[0].Digest != digest.FromString("layer 1") {
		t.Errorf("%+v, %v", changes, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Source = newMemory() // where nothing is
	if _, err := c.Changes(ctx); err == nil {
		t.Error("it does not end with the context")
	}
}

// TestSharedBase checks that a blob is a base if any repository of the plan has it, whatever other repositories of
// the site have it, too.
func TestSharedBase(t *testing.T) {
	t.Parallel()
	source := newMemory()
	old := source.image(blob("config", 3000), blob("layer 1", 50<<10))
	now := source.image(blob("config now", 3000), blob("layer 2", 50<<10))
	shared := []state.Blob{{Digest: digest.FromString("layer 1"), Size: 50 << 10}}
	c := &Chooser{
		Plan: planOf(t, now, []ocispec.Descriptor{blob("config now", 3000), blob("layer 2", 50<<10)}), Source: source,
		Site: &state.Receipt{Repositories: []state.Repository{
			{Name: "org/after", Blobs: shared}, {Name: "org/apps", Images: []state.Image{{Digest: old.Digest}}, Blobs: shared}, {Name: "org/removed", Blobs: shared},
		}},
		IsNew: func(digest.Digest) bool { return true },
	}
	changes, err := c.Changes(t.Context())
	if err != nil || len(changes) != 1 || len(changes[0].Candidates) != 1 || changes[0].Candidates[0].Repository != "org/apps" {
		t.Errorf("%+v, %v", changes, err)
	}
}

// planOf returns a plan of one image.
func planOf(t *testing.T, image ocispec.Descriptor, blobs []ocispec.Descriptor) *plan.Plan {
	t.Helper()
	p := &plan.Plan{Kind: plan.Kind, Version: plan.Version, Name: "ops"}
	m := plan.Manifest{Digest: image.Digest, MediaType: ocispec.MediaTypeImageManifest, Size: image.Size}
	for _, b := range blobs {
		m.Blobs = append(m.Blobs, b.Digest)
		p.Blobs = append(p.Blobs, plan.Blob{Digest: b.Digest, Size: b.Size})
	}
	slices.SortFunc(p.Blobs, func(a, b plan.Blob) int { return cmp.Compare(a.Digest, b.Digest) })
	p.Manifests = []plan.Manifest{m}
	p.Images = []plan.Image{{
		Source: "src.example.com/org/apps:v2", Kind: plan.AdditionalImage, Digest: image.Digest, Repository: "org/apps", Tags: []string{"v2"},
		Reasons: []plan.Reason{{List: "additionalImages"}},
	}}
	if _, err := p.Contents(); err != nil {
		t.Fatal(fmt.Errorf("the plan of the test: %w", err))
	}
	return p
}
