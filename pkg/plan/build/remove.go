package build

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
)

// Removed is a plan without what a deletion.Choice selects of it.
type Removed struct {
	Plan *plan.Plan
	// Selected are the images that are no longer in the plan, and those that are named and stay.
	Selected *deletion.Selected
	// Catalogs are the names of the catalogs that were built again.
	Catalogs []string
}

// Remove removes what c selects from a plan. Catalogs that lose bundles are built again without them, from their
// images in the plan. A channel that OLM would not accept without a bundle keeps it, and c is changed so that
// it no longer selects the bundle. The same plan gives the same bytes.
func Remove(ctx context.Context, p *plan.Plan, c *deletion.Choice, sources Sources) (*Removed, error) {
	read, err := readRemaining(ctx, p, c, sources.withTagCache())
	if err != nil {
		return nil, err
	}
	r, removal := &Removed{}, plan.Removal{}
	var requests []*imageRequest
	for _, red := range read {
		if len(red.excluded) == 0 {
			continue
		}
		at, err := red.buildRemaining(ctx, sources)
		if err != nil {
			return nil, err
		}
		r.Catalogs = append(r.Catalogs, at.Name())
		removal.Catalogs, removal.Notes = append(removal.Catalogs, at), append(removal.Notes, red.notes...)
		requests = append(requests, &imageRequest{source: at.Source, kind: plan.CatalogImage, digest: at.Digest, all: true})
	}
	if len(requests) > 0 {
		removal.Notes = append(removal.Notes, unmet(read)...)
		content, err := builtContent(ctx, requests, sources)
		if err != nil {
			return nil, err
		}
		removal.Manifests, removal.Blobs, removal.Notes = content.manifests, content.blobs, append(removal.Notes, content.notes...)
	}
	if r.Selected, err = c.Of(p); err != nil {
		return nil, err
	}
	removal.Selects = c.Selects
	removal.Blocked = elements.Sorted(maps.Values(c.Blocked), compareBlocked)
	removal.Notes = append(removal.Notes, notesOnBlockedParts(removal.Blocked)...)
	r.Plan, err = p.Remove(removal)
	return r, err
}

// readRemaining reads the catalogs of a plan, and removes what c selects of their bundles. A catalog whose packages
// are in excluded has to be built again.
func readRemaining(ctx context.Context, p *plan.Plan, c *deletion.Choice, sources Sources) ([]*catalogReduction, error) {
	drop := map[string]map[string]map[string]bool{} // catalog, package, bundle
	for b, selected := range c.Bundles {
		if !selected || c.Catalogs[b.Catalog] {
			continue
		}
		if drop[b.Catalog] == nil {
			drop[b.Catalog] = map[string]map[string]bool{}
		}
		if drop[b.Catalog][b.Package] == nil {
			drop[b.Catalog][b.Package] = map[string]bool{}
		}
		drop[b.Catalog][b.Package][b.Name] = true
	}
	if len(drop) == 0 {
		return nil, nil
	}
	read, err := collect(ctx, len(p.Catalogs), maxCatalogs, func(ctx context.Context, i int) (*catalogReduction, error) {
		excluded := map[string][]string{}
		for pkg := range drop[p.Catalogs[i].Name()] {
			excluded[pkg] = nil
		}
		return readForReduction(ctx, p.Catalogs[i], excluded, sources)
	})
	if err != nil {
		return nil, err
	}
	for _, red := range read {
		name := red.catalog.Name()
		if c.Catalogs[name] {
			red.rest = &catalog.Catalog{}
			continue
		}
		if err := red.dropBundles(drop[name], c); err != nil {
			return nil, fmt.Errorf("removing bundles from catalog %s: %w", name, err)
		}
	}
	return read, nil
}

// dropBundles removes bundles by package, and those from c that have to stay.
func (r *catalogReduction) dropBundles(drop map[string]map[string]bool, c *deletion.Choice) error {
	if len(drop) == 0 {
		return nil
	}
	if r.err != nil {
		return advice.Wrap(advice.Failure, fmt.Errorf("its content cannot be read: %w", r.err), "mirror the catalog again with gantry mirror first")
	}
	for pkg, bundles := range drop {
		now := r.full.Package(pkg)
		maps.DeleteFunc(bundles, func(name string, _ bool) bool { return now == nil || now.Bundle(name) == nil })
		if len(bundles) == 0 { // an earlier deletion removed them
			delete(drop, pkg)
			delete(r.excluded, pkg)
		}
	}
	if len(drop) == 0 {
		return nil
	}
	rest, _, err := filter.Without(r.full, drop)
	if err != nil {
		return err
	}
	for pkg, bundles := range drop {
		kept := rest.Package(pkg)
		for name := range bundles {
			if kept != nil && kept.Bundle(name) != nil {
				c.Keep(deletion.Bundle{Catalog: r.catalog.Name(), Package: pkg, Name: name}, "a channel of the package would not be valid without it")
				delete(bundles, name)
			}
		}
		if len(bundles) == 0 {
			delete(r.excluded, pkg)
		}
	}
	r.rest = rest
	return nil
}

// buildRemaining builds the image of the catalog without the removed bundles, and returns its entry in the plan.
func (r *catalogReduction) buildRemaining(ctx context.Context, sources Sources) (plan.Catalog, error) {
	c := r.catalog
	if err := validate.Catalog(r.rest); err != nil {
		return c, advice.Wrap(advice.Input, fmt.Errorf("catalog %s violates OLM's rules without the bundles: %w", c.Name(), err), "delete whole packages")
	}
	if err := r.buildImage(ctx, &c, r.rest, sources); err != nil {
		return c, fmt.Errorf("building the image of catalog %s: %w", c.Name(), err)
	}
	has := func(pkg, bundle string) bool {
		at := r.rest.Package(pkg)
		return at != nil && at.Bundle(bundle) != nil
	}
	c.Packages = remainingPackages(c.Packages, r.rest)
	c.Features = declaredFeatures(r.rest)
	c.Unlisted = slices.DeleteFunc(slices.Clone(c.Unlisted), func(u plan.UnlistedImage) bool { return !has(u.Package, u.Bundle) })
	c.Required = slices.DeleteFunc(slices.Clone(c.Required), func(q plan.Required) bool { return !has(q.Package, q.Bundle) })
	return c, nil
}

// remainingPackages returns the packages of a catalog of a plan without what its content no longer has.
func remainingPackages(packages []plan.Package, rest *catalog.Catalog) []plan.Package {
	all := []plan.Package{}
	for _, p := range packages {
		at := rest.Package(p.Name)
		if at == nil {
			continue
		}
		kept := plan.Package{Name: p.Name, DefaultChannel: at.DefaultChannel, Channels: []plan.Channel{}}
		for _, ch := range p.Channels {
			content := at.Channel(ch.Name)
			if content == nil {
				continue
			}
			has := func(name string) bool {
				return slices.ContainsFunc(content.Entries, func(e catalog.Entry) bool { return e.Name == name })
			}
			ch.Bundles = slices.DeleteFunc(slices.Clone(ch.Bundles), func(b plan.Bundle) bool { return !has(b.Name) })
			if heads := graph.Inspect(content.Entries).Heads; !has(ch.Head) && len(heads) > 0 {
				ch.Head = heads[0]
			}
			kept.Channels = append(kept.Channels, ch)
		}
		all = append(all, kept)
	}
	return all
}
