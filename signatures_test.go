package gantry

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/plan"
)

// A tagMap has the tags of repositories. A repository without tags does not list them.
type tagMap map[string][]string

func (m tagMap) TagsAfter(_ context.Context, repo reference.Reference, _ string) ([]string, bool, error) {
	tags, ok := m[repo.String()]
	if !ok {
		return nil, false, errors.New("unauthorized")
	}
	return tags, len(tags) < 5, nil
}

// TestCountSignatures counts the tags of images that were copied, and of their platforms, and nothing
// else.
func TestCountSignatures(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{Kind: plan.Kind, Version: plan.Version}
	manifest := func(name string, children ...digest.Digest) digest.Digest {
		d := digest.FromString(name)
		p.Manifests = append(p.Manifests, plan.Manifest{Digest: d, MediaType: ocispec.MediaTypeImageIndex, Size: 1, Manifests: children})
		return d
	}
	image := func(kind plan.ImageKind, source, name string, children ...digest.Digest) *plan.Image {
		return &plan.Image{Source: source, Kind: kind, Digest: manifest(name, children...)}
	}
	arm := manifest("arm")
	multi := image(plan.RelatedImage, "quay.io/a/multi:v1", "multi", arm)
	signed := image(plan.BundleImage, "quay.io/a/bundle@"+digest.FromString("bundle").String(), "bundle")
	copied := []*plan.Image{
		multi, signed,
		image(plan.AdditionalImage, "quay.io/a/bundle:other", "other"),
		image(plan.RelatedImage, "quay.io/private/x:v1", "x"),
		image(plan.RelatedImage, "quay.io/large/x:v1", "large"),
		image(plan.ReleaseImage, "quay.io/releases/x:v1", "release"),
		image(plan.CatalogImage, "oci://folder", "catalog"),
		{Source: "quay.io/gone/x:v1", Kind: plan.RelatedImage, Digest: digest.FromString("excluded later")},
	}
	tag := func(d digest.Digest, ending string) string { return "sha256-" + d.Encoded() + ending }
	never := digest.FromString("never copied")
	source := tagMap{
		"quay.io/a/multi":    {tag(arm, ".sig"), tag(multi.Digest, ".sig"), "v1"},
		"quay.io/a/bundle":   {tag(signed.Digest, ".sig"), tag(signed.Digest, ".att"), tag(signed.Digest, ".sbom"), tag(never, ".sig")},
		"quay.io/large/x":    {tag(never, ".sig"), tag(never, ".att"), tag(signed.Digest, ".sig"), tag(signed.Digest, ".txt"), tag(signed.Digest, "")},
		"quay.io/releases/x": {tag(digest.FromString("release"), ".sig")},
	}
	got, err := countSignatures(t.Context(), source, p, copied, 2)
	want := &SignatureCount{Signatures: 3, Attestations: 1, SBOMs: 1, Images: 5, Signed: 2, Repositories: 4, Unlisted: 2}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := countSignatures(t.Context(), tagMap{}, p, nil, 2); got != nil || err != nil {
		t.Errorf("nothing was copied: %+v, %v", got, err)
	}
}
