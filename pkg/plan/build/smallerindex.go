package build

import (
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// attestationOf is the annotation with which buildkit names the image that an attestation in an index
// describes (https://github.com/moby/buildkit/blob/master/docs/attestations/attestation-storage.md).
const attestationOf = "vnd.docker.reference.digest"

// makeSmaller stores an index with the images that requests select, adds it to the graph, and returns its digest.
func (g *manifestGraph) makeSmaller(ctx context.Context, source string, original digest.Digest, sources Sources) (digest.Digest, error) {
	keep := map[digest.Digest]bool{}
	for _, d := range g.reachable(original) {
		keep[d] = len(g.node(d).children) == 0
	}
	written, err := image.Smaller(ctx, sources.Images, sources.Store, source, original, func(d digest.Digest) bool { return keep[d] })
	if err != nil {
		return "", fmt.Errorf("making a smaller index of %s: %w", source, err)
	}
	for _, d := range written {
		g.node(d).built = true
	}
	made := written[original]
	return made, g.resolve(ctx, &imageRequest{source: source, all: true}, ocispec.Descriptor{Digest: made})
}

// RebuildIndex makes the smaller index of an image of a plan, or the converted image, again, and stores it.
// It is needed if a plan is mirrored without the workspace that it was made in.
func RebuildIndex(ctx context.Context, p *plan.Plan, img *plan.Image, sources Sources) error {
	if p.Format != "" {
		_, err := convertAgain(ctx, p, img, sources.Images, sources.Store)
		return err
	}
	contents, err := p.Contents()
	if err != nil {
		return err
	}
	keep := map[digest.Digest]bool{}
	err = contents.Walk(img.Digest, func(m *plan.Manifest) error {
		keep[m.Digest] = len(m.Manifests) == 0
		return nil
	}, func(plan.Blob) error { return nil })
	if err != nil {
		return err
	}
	written, err := image.Smaller(ctx, sources.Images, sources.Store, img.Source, img.RewrittenFrom, func(d digest.Digest) bool { return keep[d] })
	if err != nil {
		return fmt.Errorf("making the smaller index of %s again: %w", img.Source, err)
	}
	if written[img.RewrittenFrom] != img.Digest {
		return fmt.Errorf("image %s: its smaller index is %s, but the plan has %s: %w", img.Source, written[img.RewrittenFrom], img.Digest, errChanged)
	}
	return nil
}
