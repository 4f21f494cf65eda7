package mirror

import (
	"context"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A MissingImage is an image of a plan that a registry does not have, or not completely.
type MissingImage struct {
	// Source is the reference in the plan, Repository the plan's path and Tags its tags. Repository
	// and Tags are empty if the image is missing at the source.
	Source     string        `json:"source"`
	Digest     digest.Digest `json:"digest,omitempty"`
	Repository string        `json:"repository,omitempty"`
	Tags       []string      `json:"tags,omitempty"`
	Problem    string        `json:"problem"`
	// Manifests are those of its platforms, and of what belongs to them, that are missing.
	Manifests []digest.Digest `json:"manifests,omitempty"`
	// Blobs are those that are missing or damaged; see Options.CheckBlobs.
	Blobs []digest.Digest `json:"blobs,omitempty"`
	// Reasons are why the plan has the image: bundles, releases, charts, lists of the configuration.
	Reasons []plan.Reason `json:"because,omitempty"`
}

// Verify requests every image of the plan from a registry, under its tags and with all of its
// platforms, and returns those that are missing, in the plan's order. Blobs are not requested,
// because registries refuse manifests without them, unless opts.CheckBlobs or opts.ReadBlobs is
// set.
func Verify(ctx context.Context, p *plan.Plan, registry Registry, opts Options) ([]MissingImage, error) {
	r, err := newComparison(ctx, p, registry, opts)
	if err != nil {
		return nil, err
	}
	return r.findMissing(ctx, p)
}

// ImagesByContent returns the images of a plan that have content, by its digest, in the plan's
// order. Content that no image has is omitted.
func ImagesByContent(p *plan.Plan, content []digest.Digest) (map[digest.Digest][]*plan.Image, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	wanted := map[digest.Digest]bool{}
	for _, d := range content {
		wanted[d] = true
	}
	images := map[digest.Digest][]*plan.Image{}
	for i := range p.Images {
		img := &p.Images[i]
		add := func(d digest.Digest) {
			if have := images[d]; wanted[d] && (len(have) == 0 || have[len(have)-1] != img) {
				images[d] = append(have, img)
			}
		}
		err := contents.Walk(img.Digest,
			func(m *plan.Manifest) error { add(m.Digest); return nil },
			func(b plan.Blob) error { add(b.Digest); return nil })
		if err != nil {
			return nil, err
		}
	}
	return images, nil
}
