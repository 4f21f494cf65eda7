package mirror

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// findMissing returns what is missing of the images that the comparison did not find, in the plan's
// order. Unless the run is strict, an error becomes the problem of its image.
func (r *run) findMissing(ctx context.Context, p *plan.Plan) ([]MissingImage, error) {
	absent := slices.DeleteFunc(slices.Clone(r.images), func(img *image) bool { return img.present })
	missing := make([]MissingImage, len(absent))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	for i, img := range absent {
		missing[i] = MissingImage{Source: img.Source, Digest: img.Digest, Repository: img.Repository, Tags: img.Tags, Reasons: img.Reasons}
		g.Go(func() error {
			err := r.examine(ctx, img, &missing[i])
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil && (r.strict || r.fatal(err)):
				return fmt.Errorf("checking %s: %w", img.Source, err)
			case err != nil:
				missing[i].Problem = err.Error()
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, m := range p.Missing {
		missing = append(missing, MissingImage{Source: m.Source, Problem: "it is missing at the source: " + m.Message, Reasons: m.Reasons})
	}
	return missing, nil
}

// examine finds out what is missing of an image.
func (r *run) examine(ctx context.Context, img *image, m *MissingImage) (err error) {
	if m.Problem, m.Manifests, err = r.problem(ctx, img); err != nil || m.Problem != "" {
		return err
	}
	m.Problem = "it was pushed during verification"
	if r.CheckBlobs {
		var problem string
		problem, m.Blobs, err = r.contentProblem(ctx, img)
		m.Problem = cmp.Or(problem, m.Problem)
	}
	return err
}

// problem returns what is missing of an image, with the digests of missing children; "" if its
// manifests are all present. With Options.Repair, it requests every manifest under every tag and
// remembers which are present.
func (r *run) problem(ctx context.Context, img *image) (problem string, children []digest.Digest, err error) {
	has := func(m *plan.Manifest, tag string) (bool, error) {
		ok, err := r.hasTag(ctx, img, m, tag)
		if ok && err == nil && r.Repair {
			r.intact.Store(pushKeyOf(img, m, []string{tag}), struct{}{})
		}
		return ok, err
	}
	root := img.manifests[len(img.manifests)-1]
	if img.isReferrer() {
		listed, err := r.isListed(ctx, img)
		if err != nil {
			return "", nil, err
		}
		if !listed { // it is pushed again, even if it is present
			ok, err := r.registry.HasManifest(ctx, img.repository, "", manifestDescriptor(root))
			if !ok || err != nil {
				return "it is missing", nil, err
			}
			return "the registry does not list it as a referrer of " + img.Subject.String(), nil, nil
		}
	}
	ok, err := has(root, "")
	if err != nil {
		return "", nil, err
	}
	if !ok {
		problem = "it is missing"
	}
	for _, tag := range img.Tags {
		if problem != "" && !r.Repair {
			return problem, nil, nil
		}
		ok, err := has(root, tag)
		if err != nil {
			return "", nil, err
		}
		if !ok {
			problem = cmp.Or(problem, fmt.Sprintf("the tag %s is missing or names another image", tag))
		}
	}
	if problem != "" && !r.Repair {
		return problem, nil, nil
	}
	of := img.manifests[:len(img.manifests)-1]
	for _, m := range of {
		ok, err := has(m, "")
		if err != nil {
			return "", nil, err
		}
		if !ok {
			children = append(children, m.Digest)
		}
	}
	if len(children) > 0 {
		problem = cmp.Or(problem, fmt.Sprintf("%d of its %d parts (platforms and what belongs to them) are missing", len(children), len(of)))
	}
	return problem, children, nil
}

// isIntact reports whether a repair found a manifest under a tag, or under its digest if the tag is "".
func (r *run) isIntact(img *image, m *plan.Manifest, tag string) bool {
	if _, damaged := r.damaged.Load(m.Digest); damaged || !r.Repair {
		return false
	}
	_, ok := r.intact.Load(pushKeyOf(img, m, []string{tag}))
	return ok
}

// missingTags returns the tags under which a manifest has to be pushed, and whether it has to be pushed
// at all. Only a repair knows.
func (r *run) missingTags(img *image, m *plan.Manifest, tags []string) (missing []string, push bool) {
	if len(tags) == 0 {
		return nil, !r.isIntact(img, m, "")
	}
	missing = slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return r.isIntact(img, m, tag) })
	return missing, len(missing) > 0
}
