package gantry

import (
	"cmp"
	"context"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image"
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

// convertedImages returns those of a plan.
func convertedImages(p *plan.Plan) (all []ConvertedImage) {
	for _, img := range p.Images {
		if img.RewrittenFrom != "" && p.Format != "" {
			all = append(all, ConvertedImage{img.Source, img.Digest, img.RewrittenFrom, img.NamedBy})
		}
	}
	return all
}

// originalsOf returns the digests that manifests of an image have at its source. Only those of converted
// images differ.
func originalsOf(ctx context.Context, p *plan.Plan, img *plan.Image, digests []digest.Digest, images image.Reader) ([]digest.Digest, error) {
	from, err := build.Originals(ctx, p, img, images)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(digests)
	for i, d := range out {
		out[i] = cmp.Or(from[d], d)
	}
	return out, nil
}

// rebuildIndexes makes the smaller indexes and converted images of a plan again, even if the cache has them: a signature policy
// accepts them because of the originals, so they have to be made of these.
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
