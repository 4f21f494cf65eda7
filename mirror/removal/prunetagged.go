package removal

import (
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

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
