package planning

import (
	"context"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// A SmallerIndex is an image with only some of its platforms mirrored, with platformsMode: rewrite.
type SmallerIndex struct {
	Source string        `json:"source"`
	Digest digest.Digest `json:"digest"` // in the mirror
	// RewrittenFrom is the original index, or NotRewritten the reason why all of it is mirrored.
	RewrittenFrom digest.Digest `json:"rewrittenFrom,omitempty"`
	NotRewritten  string        `json:"notRewritten,omitempty"`
}

// SmallerIndexes returns those of a plan.
func SmallerIndexes(p *plan.Plan) (all []SmallerIndex) {
	for _, img := range p.Images {
		if img.RewrittenFrom != "" && p.Format == "" || img.NotRewritten != "" {
			all = append(all, SmallerIndex{img.Source, img.Digest, img.RewrittenFrom, img.NotRewritten})
		}
	}
	return all
}

// A ConvertedImage is an image that was converted to the media types of Selection.DestFormat.
type ConvertedImage struct {
	Source string        `json:"source"`
	Digest digest.Digest `json:"digest"` // in the mirror
	// ConvertedFrom is the digest at the source.
	ConvertedFrom digest.Digest `json:"convertedFrom"`
	// NamedBy is what names ConvertedFrom and cannot be changed, so that clusters do not find the image.
	NamedBy string `json:"namedBy,omitempty"`
}

// ConvertedImages returns those of a plan.
func ConvertedImages(p *plan.Plan) (all []ConvertedImage) {
	for _, img := range p.Images {
		if img.RewrittenFrom != "" && p.Format != "" {
			all = append(all, ConvertedImage{img.Source, img.Digest, img.RewrittenFrom, img.NamedBy})
		}
	}
	return all
}

// rebuildIndexes makes the smaller indexes and converted images of a plan again, even if the cache has them: a signature policy
// accepts them because of the originals, so they have to be made of these.
func rebuildIndexes(ctx context.Context, s *workspace.Session, p *plan.Plan) error {
	seen := map[digest.Digest]bool{}
	for i := range p.Images {
		img := &p.Images[i]
		if img.RewrittenFrom == "" || seen[img.Digest] {
			continue
		}
		seen[img.Digest] = true
		if _, err := s.Cached(ctx, p, img.Digest, false); err != nil { // removes what is damaged
			return err
		}
		if err := build.RebuildIndex(ctx, p, img, s.Sources.Plan()); err != nil {
			return err
		}
	}
	return nil
}
