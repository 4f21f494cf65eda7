package plan

import (
	"context"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Publish builds the image of a catalog and plans nothing but that image, as
// repository:tag. It stands on the image that base names, mostly one with opm,
// or, where base is "", on nothing. What the catalog's bundles name is not part
// of the plan.
func Publish(ctx context.Context, c *catalog.Catalog, base, repository, tag string, from From) (*Plan, error) {
	w := &wish{source: dirScheme + repository, kind: AdditionalImage, repo: repository, tag: tag, all: true, because: []Because{{List: "catalog"}}}
	built, err := publish(ctx, c, base, w, from)
	if err != nil {
		return nil, err
	}
	w.digest = built.Root.Digest
	f := newForest(from.Images)
	found, err := f.resolve(ctx, []*wish{w}, Options{}.withDefaults())
	if err == nil {
		err = found[0].err
	}
	if err != nil {
		return nil, fmt.Errorf("reading the image that was built: %w", err)
	}
	p := &Plan{Kind: Kind, Version: Version, Name: "catalog", Manifests: []Manifest{}, Blobs: []Blob{}, Notes: built.Warnings}
	if p.Images, _, err = place(found); err != nil {
		return nil, err
	}
	if err := f.harvest(p); err != nil {
		return nil, err
	}
	return p, p.check()
}

// publish builds the image on its base, whose name it enters as the source of
// what is not built.
func publish(ctx context.Context, c *catalog.Catalog, base string, w *wish, from From) (*image.Built, error) {
	if base == "" {
		built, err := image.Scratch(ctx, from.Store, c)
		if err != nil {
			return nil, fmt.Errorf("building the catalog's image: %w", err)
		}
		return built, nil
	}
	ref, err := reference.Parse(base)
	if err != nil {
		return nil, &InputError{fmt.Errorf("the base image: %w", err)}
	}
	w.source = ref.String()
	desc, _, err := from.Images.Manifest(ctx, w.source, "")
	if err != nil {
		return nil, fmt.Errorf("reading the base image %s: %w", base, err)
	}
	img, err := image.OpenBase(ctx, source.Content(from.Images, w.source), desc)
	if err == nil {
		var built *image.Built
		if built, err = image.Build(ctx, from.Store, img, c); err == nil {
			return built, nil
		}
	}
	return nil, fmt.Errorf("building the catalog's image on %s: %w", base, err)
}
