package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
)

// A reduction is a catalog of a plan and what is to be left out of it.
type reduction struct {
	catalog Catalog
	gone    map[string][]string // packages, with the images that are missing
	image   *image.Image
	// whole is the catalog as planned, nil where it cannot be read, which err
	// explains.
	whole *catalog.Catalog
	err   error
	notes []string
}

// readForReduction reads the catalog out of the image that the plan has of it.
// Of one that stays as it is, it leaves out the text.
func readForReduction(ctx context.Context, c Catalog, gone map[string][]string, from From) (*reduction, error) {
	r := &reduction{catalog: c, gone: gone}
	var opts catalog.Options
	if len(gone) == 0 {
		opts.Shed = func(*catalog.Bundle) {}
	}
	r.image, r.whole, r.err = readPlanned(ctx, c, opts, from)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return r, nil
}

// readPlanned opens and reads the image that the plan has of a catalog.
func readPlanned(ctx context.Context, c Catalog, opts catalog.Options, from From) (*image.Image, *catalog.Catalog, error) {
	desc, _, err := from.Images.Manifest(ctx, c.Source, c.Digest)
	if err != nil {
		return nil, nil, err
	}
	img, err := image.Open(ctx, source.Content(from.Images, c.Source), desc)
	if err != nil {
		return nil, nil, err
	}
	whole, err := img.Read(ctx, opts)
	return img, whole, err
}

// left is what is left of the catalog.
func (r *reduction) left() *catalog.Catalog {
	if r.whole == nil {
		return &catalog.Catalog{}
	}
	return leave(r.whole, func(pkg string) bool { return r.gone[pkg] != nil })
}

// leave is the catalog without some packages.
func leave(c *catalog.Catalog, out func(pkg string) bool) *catalog.Catalog {
	less := *c
	gone := func(p *catalog.Package) bool { return out(p.Name) }
	less.Packages = slices.DeleteFunc(slices.Clone(c.Packages), gone)
	less.Outlines = slices.DeleteFunc(slices.Clone(c.Outlines), gone)
	less.Names = slices.DeleteFunc(slices.Clone(c.Names), out)
	return &less
}

// build builds the image of what is left and enters it into c. Where there is
// none, it says why.
func (r *reduction) build(ctx context.Context, c *Catalog, from From) (reason string, err error) {
	if r.err != nil {
		return "its content cannot be read: " + r.err.Error(), nil //nolint:nilerr // it is the reason
	}
	left := r.left()
	if len(left.Packages) == 0 {
		return "each of its packages names an image that is missing", nil
	}
	if err := validate.Catalog(left); err != nil {
		return "what is left of it breaks rules of OLM: " + err.Error(), nil //nolint:nilerr // it is the reason
	}
	built, err := image.Build(ctx, from.Store, r.image, left)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("building the image of catalog %s without %s: %w", c.Name(), strings.Join(slices.Sorted(maps.Keys(r.gone)), ", "), err)
	}
	if c.Tag == digestTag(c.Digest) {
		c.Tag = digestTag(built.Root.Digest)
	}
	c.Digest, c.Built, c.BinaryLess, c.ConfigsDir = built.Root.Digest, true, built.BinaryLess, built.Directory
	c.Packages = slices.DeleteFunc(slices.Clone(c.Packages), func(p Package) bool { return r.gone[p.Name] != nil })
	c.LeftOut = slices.Clone(c.LeftOut)
	for _, pkg := range slices.Sorted(maps.Keys(r.gone)) {
		images := slices.Compact(slices.Sorted(slices.Values(r.gone[pkg])))
		c.LeftOut = append(c.LeftOut, LeftOut{Package: pkg, Images: images})
		r.notes = append(r.notes, fmt.Sprintf("%s: package %s is left out, since %s missing: %s",
			c.Name(), pkg, count(len(images), "image is", "images are"), strings.Join(images, ", ")))
	}
	slices.SortFunc(c.LeftOut, func(a, b LeftOut) int { return strings.Compare(a.Package, b.Package) })
	for _, warning := range built.Warnings {
		r.notes = append(r.notes, c.Name()+": "+warning)
	}
	return "", nil
}

// unmet are notes on what bundles need that was there before packages were left
// out.
func unmet(read []*reduction) []string {
	needs := func(kept func(*reduction) *catalog.Catalog) map[string]resolve.Unmet {
		var sides []resolve.Catalog
		for _, r := range read {
			c := kept(r)
			sides = append(sides, resolve.Catalog{
				Name: r.catalog.Name(), Priority: (&taken{entry: r.catalog}).priority(), Wanted: true, Kept: c, Whole: c,
			})
		}
		all := map[string]resolve.Unmet{}
		for _, u := range resolve.Needs(sides, nil).Unmet {
			all[u.Need.String()] = u
		}
		return all
	}
	before := needs(func(r *reduction) *catalog.Catalog {
		if r.whole == nil {
			return &catalog.Catalog{}
		}
		return r.whole
	})
	var notes []string
	for need := range needs((*reduction).left) {
		if _, lacked := before[need]; !lacked {
			notes = append(notes, need+": what provides it is left out")
		}
	}
	slices.Sort(notes)
	return notes
}

// rebuildReduced builds a catalog of a plan again of which packages were left
// out: first as it was, then without them.
func rebuildReduced(ctx context.Context, c Catalog, r *taken, from From) error {
	gone := map[string][]string{}
	for _, l := range c.LeftOut {
		gone[l.Package] = l.Images
	}
	was := r.entry
	was.Source = r.op.Catalog
	red, err := readForReduction(ctx, was, gone, from)
	if err != nil {
		return err
	}
	var reason string
	if reason, err = red.build(ctx, &r.entry, from); reason != "" {
		err = errors.New(reason)
	}
	return err
}

// leaveOut takes out of what was kept the packages that the plan left out.
func (r *taken) leaveOut(left []LeftOut) {
	out := func(pkg string) bool {
		return slices.ContainsFunc(left, func(l LeftOut) bool { return l.Package == pkg })
	}
	if len(left) == 0 {
		return
	}
	result := *r.result
	result.Catalog = leave(result.Catalog, out)
	result.Packages = slices.Clone(result.Packages)
	for i := len(result.Packages) - 1; i >= 0; i-- {
		if out(result.Packages[i].Name) {
			result.Packages = slices.Delete(result.Packages, i, i+1)
		}
	}
	result.Unchanged = false
	r.result = &result
}
