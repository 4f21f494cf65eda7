package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A catalogReduction is a catalog of a plan with the packages to exclude from it.
type catalogReduction struct {
	catalog  plan.Catalog
	excluded map[string][]string // packages, with the missing images that they name
	image    *image.Image
	// full is the catalog as planned. It is nil if it cannot be read; err is the reason.
	full *catalog.Catalog
	err  error
	// rest is the catalog without the bundles that Remove removes; nil without it.
	rest  *catalog.Catalog
	notes []string
}

// readForReduction reads a catalog from its image in the plan. If no package is to be excluded, it
// does not keep the text of bundles.
func readForReduction(ctx context.Context, c plan.Catalog, excluded map[string][]string, sources Sources) (*catalogReduction, error) {
	r := &catalogReduction{catalog: c, excluded: excluded}
	var opts catalog.Options
	if len(excluded) == 0 {
		opts.DropText = func(*catalog.Bundle) {}
	}
	r.image, r.full, r.err = readPlanned(ctx, c, opts, sources)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return r, nil
}

// readPlanned opens and reads the image of a catalog of a plan.
func readPlanned(ctx context.Context, c plan.Catalog, opts catalog.Options, sources Sources) (*image.Image, *catalog.Catalog, error) {
	desc, _, err := sources.Images.Manifest(ctx, c.Source, c.Digest)
	if err != nil {
		return nil, nil, err
	}
	img, err := image.Open(ctx, sources.Images, c.Source, desc)
	if err != nil {
		return nil, nil, err
	}
	whole, err := img.Read(ctx, opts)
	return img, whole, err
}

// remaining returns the catalog without the excluded packages.
func (r *catalogReduction) remaining() *catalog.Catalog {
	if r.rest != nil {
		return r.rest
	}
	if r.full == nil {
		return &catalog.Catalog{}
	}
	return withoutPackages(r.full, func(pkg string) bool { return r.excluded[pkg] != nil })
}

// withoutPackages returns a catalog without some packages.
func withoutPackages(c *catalog.Catalog, exclude func(pkg string) bool) *catalog.Catalog {
	rest := *c
	isExcluded := func(p *catalog.Package) bool { return exclude(p.Name) }
	rest.Packages = slices.DeleteFunc(slices.Clone(c.Packages), isExcluded)
	rest.Outlines = slices.DeleteFunc(slices.Clone(c.Outlines), isExcluded)
	rest.Names = slices.DeleteFunc(slices.Clone(c.Names), exclude)
	return &rest
}

// build builds the image of the remaining catalog and writes it into c. If there is none, it returns the reason.
func (r *catalogReduction) build(ctx context.Context, c *plan.Catalog, sources Sources) (reason string, err error) {
	if r.err != nil {
		return "its content cannot be read: " + r.err.Error(), nil //nolint:nilerr // returned as the reason
	}
	remaining := r.remaining()
	if len(remaining.Packages) == 0 {
		return "each of its packages names a missing image", nil
	}
	if err := validate.Catalog(remaining); err != nil {
		return "the remaining catalog violates OLM's rules: " + err.Error(), nil //nolint:nilerr // returned as the reason
	}
	if err := r.buildImage(ctx, c, remaining, sources); err != nil {
		return "", fmt.Errorf("building the image of catalog %s without %s: %w", c.Name(), strings.Join(slices.Sorted(maps.Keys(r.excluded)), ", "), err)
	}
	c.Packages = slices.DeleteFunc(slices.Clone(c.Packages), func(p plan.Package) bool { return r.excluded[p.Name] != nil })
	c.Features = slices.DeleteFunc(slices.Clone(c.Features), func(f plan.DeclaredFeatures) bool { return r.excluded[f.Package] != nil })
	c.Unlisted = slices.DeleteFunc(slices.Clone(c.Unlisted), func(u plan.UnlistedImage) bool { return r.excluded[u.Package] != nil })
	c.Excluded = slices.Clone(c.Excluded)
	for _, pkg := range slices.Sorted(maps.Keys(r.excluded)) {
		images := slices.Compact(slices.Sorted(slices.Values(r.excluded[pkg])))
		c.Excluded = append(c.Excluded, plan.Excluded{Package: pkg, Images: images})
		r.notes = append(r.notes, fmt.Sprintf("%s: package %s is excluded: %s missing: %s",
			c.Name(), pkg, count(len(images), "image is", "images are"), strings.Join(images, ", ")))
	}
	elements.Sort(c.Excluded, func(a, b plan.Excluded) int { return strings.Compare(a.Package, b.Package) })
	return "", nil
}

// buildImage builds the image of a catalog with other content and writes it into c.
func (r *catalogReduction) buildImage(ctx context.Context, c *plan.Catalog, content *catalog.Catalog, sources Sources) error {
	built, err := image.Build(ctx, sources.Store, r.image, content)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	if plan.IsDigestTag(c.Tag, c.Digest) {
		c.Tag = plan.DigestTag(built.Root.Digest)
	}
	c.Digest, c.Built, c.BinaryLess, c.ConfigsDir = built.Root.Digest, true, built.BinaryLess, built.Directory
	for _, warning := range built.Warnings {
		r.notes = append(r.notes, c.Name()+": "+warning)
	}
	return nil
}

// unmet returns notes on requirements that are no longer met because packages were excluded.
func unmet(read []*catalogReduction) []string {
	needs := func(kept func(*catalogReduction) *catalog.Catalog) map[string]resolve.Unsatisfied {
		var sides []resolve.Catalog
		for _, r := range read {
			c := kept(r)
			sides = append(sides, resolve.Catalog{
				Name: r.catalog.Name(), Priority: (&selectedCatalog{entry: r.catalog}).priority(), Wanted: true, Kept: c, Original: c,
			})
		}
		all := map[string]resolve.Unsatisfied{}
		for _, u := range resolve.Dependencies(sides, nil).Unsatisfied {
			all[u.Dependency.String()] = u
		}
		return all
	}
	before := needs(func(r *catalogReduction) *catalog.Catalog {
		return cmp.Or(r.full, &catalog.Catalog{})
	})
	var notes []string
	for need := range needs((*catalogReduction).remaining) {
		if _, lacked := before[need]; !lacked {
			notes = append(notes, need+": the package that provides it is excluded")
		}
	}
	slices.Sort(notes)
	return notes
}

// rebuildReduced builds a catalog of a plan again, from its image as it was before packages were
// excluded. entry is the catalog before that; source is where it is read sources.
func rebuildReduced(ctx context.Context, c plan.Catalog, source string, entry plan.Catalog, sources Sources) (plan.Catalog, error) {
	excluded := map[string][]string{}
	for _, x := range c.Excluded {
		excluded[x.Package] = x.Images
	}
	before := entry
	before.Source = source
	red, err := readForReduction(ctx, before, excluded, sources)
	if err != nil {
		return entry, err
	}
	reason, err := red.build(ctx, &entry, sources)
	if reason != "" {
		err = errors.New(reason)
	}
	return entry, err
}

// exclude removes the packages that the plan excludes from the selection.
func (r *selectedCatalog) exclude(excluded []plan.Excluded) {
	out := func(pkg string) bool {
		return slices.ContainsFunc(excluded, func(x plan.Excluded) bool { return x.Package == pkg })
	}
	if len(excluded) == 0 {
		return
	}
	result := *r.result
	result.Catalog = withoutPackages(result.Catalog, out)
	result.Packages = slices.DeleteFunc(slices.Clone(result.Packages), func(p filter.Package) bool { return out(p.Name) })
	result.Unchanged = false
	r.result = &result
}
