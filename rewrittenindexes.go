package gantry

import (
	"context"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/plan"
	"github.com/gantry-mirror/gantry/plan/build"
)

// A SmallerIndex is an image with only some of its platforms mirrored, with platformsMode: rewrite.
type SmallerIndex struct {
	Source string        `json:"source"`
	Digest digest.Digest `json:"digest"` // in the mirror
	// RewrittenFrom is the original index, or NotRewritten the reason why all of it is mirrored.
	RewrittenFrom digest.Digest `json:"rewrittenFrom,omitempty"`
	NotRewritten  string        `json:"notRewritten,omitempty"`
}

// smallerIndexes returns those of a plan.
func smallerIndexes(p *plan.Plan) (all []SmallerIndex) {
	for _, img := range p.Images {
		if img.RewrittenFrom != "" || img.NotRewritten != "" {
			all = append(all, SmallerIndex{img.Source, img.Digest, img.RewrittenFrom, img.NotRewritten})
		}
	}
	return all
}

// rebuildIndexes makes the smaller indexes of a plan again, even if the cache has them: a signature policy
// accepts them because of the originals, so they have to be parts of these.
func (s *Session) rebuildIndexes(ctx context.Context, p *plan.Plan) error {
	seen := map[digest.Digest]bool{}
	for i := range p.Images {
		img := &p.Images[i]
		if img.RewrittenFrom == "" || seen[img.Digest] {
			continue
		}
		seen[img.Digest] = true
		if _, err := s.cached(ctx, p, img.Digest, false); err != nil { // removes what is damaged
			return err
		}
		if err := build.RebuildIndex(ctx, p, img, s.sources.Plan()); err != nil {
			return err
		}
	}
	return nil
}
