package build

import (
	"context"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// Reduce returns the plan with its catalogs built again without the packages that name a missing image. Images that only those
// packages name are removed, missing ones too; images that the configuration lists stay missing. Packages that need an excluded
// package are kept, and a note lists what they need.
//
// The content of the catalogs is read from their images in the plan, and must pass OLM's rules again. The same plan gives the
// same bytes.
func Reduce(ctx context.Context, p *plan.Plan, sources Sources) (*plan.Reduced, error) {
	sources = sources.withTagCache()
	r := &plan.Reduced{NotReduced: map[string]string{}}
	excluded := packagesWithMissingImages(p)
	read, err := collect(ctx, len(p.Catalogs), maxCatalogs, func(ctx context.Context, i int) (*catalogReduction, error) {
		return readForReduction(ctx, p.Catalogs[i], excluded[p.Catalogs[i].Name()], sources)
	})
	if err != nil {
		return nil, err
	}
	var catalogs []plan.Catalog
	var notes []string
	var requests []*imageRequest
	for i, red := range read {
		if len(red.excluded) == 0 {
			continue
		}
		c := p.Catalogs[i]
		reason, err := red.build(ctx, &c, sources)
		if err != nil {
			return nil, err
		}
		if reason != "" {
			r.NotReduced[c.Name()] = reason
			red.excluded = nil
			continue
		}
		r.Catalogs = append(r.Catalogs, c.Name())
		catalogs = append(catalogs, c)
		notes = append(notes, red.notes...)
		requests = append(requests, &imageRequest{source: c.Source, kind: plan.CatalogImage, digest: c.Digest, all: true})
	}
	if len(catalogs) == 0 {
		r.Plan = p
		return r, nil
	}
	notes = append(notes, unmet(read)...)
	content, err := builtContent(ctx, requests, sources)
	if err != nil {
		return nil, err
	}
	r.Plan, err = p.Replace(catalogs, content.manifests, content.blobs, append(notes, content.notes...))
	return r, err
}

// builtContent returns the manifests and blobs of catalog images that were built.
func builtContent(ctx context.Context, requests []*imageRequest, sources Sources) (planContent, error) {
	graph := newManifestGraph(sources.Images)
	found, err := graph.resolveAll(ctx, requests, Options{}.withDefaults())
	if err != nil {
		return planContent{}, err
	}
	images := make([]plan.Image, len(found))
	for i, r := range found {
		if r.err != nil {
			return planContent{}, fmt.Errorf("reading the catalog image that was built: %w", r.err)
		}
		images[i] = plan.Image{Source: r.request.source, Digest: r.digest}
	}
	return graph.content(images)
}

// packagesWithMissingImages returns the packages that name missing images, with these images, by catalog.
func packagesWithMissingImages(p *plan.Plan) map[string]map[string][]string {
	missing := map[string]map[string][]string{}
	for _, m := range p.Missing {
		for _, b := range m.Reasons {
			if b.Catalog == "" || b.Package == "" {
				continue
			}
			if missing[b.Catalog] == nil {
				missing[b.Catalog] = map[string][]string{}
			}
			missing[b.Catalog][b.Package] = append(missing[b.Catalog][b.Package], m.Source)
		}
	}
	return missing
}
