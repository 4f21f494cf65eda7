package mirror

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/plan"
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
	// Blobs are those that are missing or damaged; see Options.CheckBlobs.
	Blobs []digest.Digest `json:"blobs,omitempty"`
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
	absent := slices.DeleteFunc(slices.Clone(r.images), func(img *image) bool { return img.present })
	missing := make([]MissingImage, len(absent))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	for i, img := range absent {
		missing[i] = MissingImage{Source: img.Source, Digest: img.Digest, Repository: img.Repository, Tags: img.Tags}
		g.Go(func() error {
			var err error
			if missing[i].Problem, err = r.problem(ctx, img); err == nil && missing[i].Problem == "" {
				missing[i].Problem = "it was pushed during verification"
				if r.CheckBlobs {
					var problem string
					problem, missing[i].Blobs, err = r.contentProblem(ctx, img)
					missing[i].Problem = cmp.Or(problem, missing[i].Problem)
				}
			}
			if err != nil {
				return fmt.Errorf("checking %s: %w", img.Source, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, m := range p.Missing {
		missing = append(missing, MissingImage{Source: m.Source, Problem: "it is missing at the source: " + m.Message})
	}
	return missing, nil
}

// problem returns what is missing of an image; "" if its manifests are all present.
func (r *run) problem(ctx context.Context, img *image) (string, error) {
	has := func(m *plan.Manifest, tag string) (bool, error) {
		return r.registry.HasManifest(ctx, img.repository, tag, manifestDescriptor(m))
	}
	last := len(img.manifests) - 1
	if ok, err := has(img.manifests[last], ""); !ok || err != nil {
		return "it is missing", err
	}
	for _, tag := range img.Tags {
		if ok, err := has(img.manifests[last], tag); !ok || err != nil {
			return fmt.Sprintf("the tag %s is missing or names another image", tag), err
		}
	}
	missing := 0
	for _, m := range img.manifests[:last] {
		ok, err := has(m, "")
		if err != nil {
			return "", err
		}
		if !ok {
			missing++
		}
	}
	if missing == 0 {
		if img.isReferrer() {
			if listed, err := r.isListed(ctx, img); !listed || err != nil {
				return "the registry does not list it as a referrer of " + img.Subject.String(), err
			}
		}
		return "", nil
	}
	return fmt.Sprintf("%d of its %d parts (platforms and what belongs to them) are missing", missing, last), nil
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
