package removal

import (
	"context"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// planWithTagged returns what can be deleted. A catalog or release that no revision needs and that a tag of others keeps
// still names images: these stay, too. r is the result of the first reading of the records, the returned one
// another reading if that was necessary.
func planWithTagged(ctx context.Context, e *env.Env, o *PruneOptions, s *workspace.Session, r *recordedRevisions) (*recordedRevisions, *prune.DeletionPlan, error) {
	p, err := r.plan(ctx)
	if err != nil || o.Forget != "" {
		return r, p, err
	}
	var kept []prune.Kept
	tagged := map[imagePlace]bool{}
	for _, k := range p.Kept {
		if k.Published {
			k.Reason += "; what it names stays, too"
			kept = append(kept, k)
			tagged[imagePlace{k.Repository, k.Digest}] = true
		}
	}
	if len(kept) == 0 {
		return r, p, nil
	}
	again := *o
	again.tagged = tagged
	if r, err = readRevisions(ctx, e, &again, s, r.to, nil); err != nil {
		return nil, nil, err
	}
	if p, err = r.plan(ctx); err != nil {
		return nil, nil, err
	}
	p.Keep(kept...)
	return r, p, nil
}

// keepTagged returns which images of an earlier plan are wanted: those for which want returns true, and the catalogs and
// releases in r.tagged with what they name. It is want if the plan has none of these.
func (r *recordedRevisions) keepTagged(p *plan.Plan, names map[string]reference.Reference, want func(*plan.Image) bool) (func(*plan.Image) bool, error) {
	stay := map[plan.Publishable]bool{}
	for i := range p.Images {
		img := &p.Images[i]
		if what, ok := img.Publishable(); ok && r.tagged[imagePlace{names[img.Repository].Path, img.Digest}] {
			stay[what] = true
		}
	}
	if len(stay) == 0 {
		return want, nil
	}
	return wantAlso(p, want, func(img *plan.Image) bool {
		what, _ := img.Publishable()
		return stay[what] || slices.ContainsFunc(img.Reasons, func(b plan.Reason) bool {
			what, ok := b.Publishable()
			return ok && stay[what]
		})
	})
}

// wantAlso returns a function that reports whether want, which may be nil, or one of the further images of a plan
// includes an image. What belongs to the further images is included.
func wantAlso(p *plan.Plan, want, also func(*plan.Image) bool) (func(*plan.Image) bool, error) {
	var images []plan.Image
	for i := range p.Images {
		if also(&p.Images[i]) {
			images = append(images, p.Images[i])
		}
	}
	images, err := p.WithAttached(images)
	if err != nil {
		return nil, err
	}
	type key struct {
		repository string
		digest     digest.Digest
	}
	wanted := map[key]bool{}
	for i := range images {
		wanted[key{images[i].Repository, images[i].Digest}] = true
	}
	return func(img *plan.Image) bool {
		return want != nil && want(img) || wanted[key{img.Repository, img.Digest}]
	}, nil
}
