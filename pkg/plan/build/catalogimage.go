package build

import (
	"context"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// CatalogImage builds the image of a catalog and returns a plan with only that image, as
// repository:tag. The image is built on the image base, usually one that contains opm, or from
// scratch if base is "". The plan does not contain what the catalog's bundles name.
func CatalogImage(ctx context.Context, c *catalog.Catalog, base, repository, tag string, sources Sources) (*plan.Plan, error) {
	built, source, err := buildOnBase(ctx, c, base, sources)
	if err != nil {
		return nil, err
	}
	if source == "" {
		source = dirScheme + repository
	}
	w := &imageRequest{
		source: source, digest: built.Root.Digest, kind: plan.AdditionalImage, repo: repository, tag: tag, all: true,
		reasons: []plan.Reason{{List: "catalog"}},
	}
	graph := newManifestGraph(sources.Images)
	found, err := graph.resolveAll(ctx, []*imageRequest{w}, Options{}.withDefaults())
	if err == nil {
		err = found[0].err
	}
	if err != nil {
		return nil, fmt.Errorf("reading the image that was built: %w", err)
	}
	images, _, err := assignTargets(found)
	if err != nil {
		return nil, err
	}
	content, err := graph.content(images)
	if err != nil {
		return nil, err
	}
	p := &plan.Plan{
		Kind: plan.Kind, Version: plan.Version, Name: "catalog",
		Images: content.images, Manifests: content.manifests, Blobs: content.blobs, Notes: append(built.Warnings, content.notes...),
	}
	p.Totals = p.Count()
	return p, p.Check()
}

// buildOnBase builds the image on its base. It returns the reference of the base, which is the
// source of the layers that are not built.
func buildOnBase(ctx context.Context, c *catalog.Catalog, base string, sources Sources) (*image.Built, string, error) {
	if base == "" {
		built, err := image.Scratch(ctx, sources.Store, c)
		if err != nil {
			return nil, "", fmt.Errorf("building the catalog's image: %w", err)
		}
		return built, "", nil
	}
	ref, err := reference.Parse(base)
	if err != nil {
		return nil, "", inputErrorf("base image: %w", err)
	}
	source := ref.String()
	desc, _, err := sources.Images.Manifest(ctx, source, "")
	if err != nil {
		return nil, "", fmt.Errorf("reading the base image %s: %w", base, err)
	}
	img, err := image.OpenBase(ctx, sources.Images, source, desc)
	if err == nil {
		var built *image.Built
		if built, err = image.Build(ctx, sources.Store, img, c); err == nil {
			return built, source, nil
		}
	}
	return nil, "", fmt.Errorf("building the catalog's image on %s: %w", base, err)
}
