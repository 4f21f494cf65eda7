package trust

import (
	"cmp"
	"context"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
)

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
