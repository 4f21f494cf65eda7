package build

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// unlistedImages are the images of one catalog that its bundles use and do not list.
type unlistedImages struct {
	images []plan.UnlistedImage // sorted
	// names are the names of the images in their bundles, in the order of images.
	names []string
	// unseen is the number of bundles whose deployments are unknown.
	unseen int
	notes  []string
}

// findUnlisted finds the images that the kept bundles of a catalog use and do not list. The deployments of a bundle that the
// catalog does not have are read from the bundle's image if the configuration asks for these images.
func (r *selectedCatalog) findUnlisted(ctx context.Context, sources Sources, opts Options) (unlistedImages, error) {
	var bundles []*catalog.Bundle
	for _, p := range r.result.Catalog.Packages {
		bundles = append(bundles, p.Bundles...)
	}
	found := make([]unlistedImages, len(bundles))
	err := eachOf(ctx, len(bundles), opts.Jobs, func(ctx context.Context, i int) error {
		b := bundles[i]
		used, seen, err := excerpt.Images(b)
		if err == nil && !seen && r.complete() && b.Image != "" {
			var inside *catalog.Bundle
			if inside, err = ReadBundle(ctx, sources.Images, b.Image); err == nil {
				used, seen, err = excerpt.Images(inside)
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		found[i] = unlistedOf(b, used)
		if err != nil || !seen {
			found[i].unseen = 1
		}
		if err != nil && r.complete() {
			found[i].notes = append(found[i].notes, fmt.Sprintf("%s: the images that bundle %s uses are unknown: %v", r.entry.Name(), b.Name, err))
		}
		return nil
	})
	var all unlistedImages
	for _, f := range found {
		all.images, all.names = append(all.images, f.images...), append(all.names, f.names...)
		all.notes = append(all.notes, f.notes...)
		all.unseen += f.unseen
	}
	return all, err
}

// findUnlisted finds the images of all catalogs that bundles do not list.
func (s catalogSelection) findUnlisted(ctx context.Context, sources Sources, opts Options) (err error) {
	for _, r := range s.all {
		if r.unlisted, err = r.findUnlisted(ctx, sources, opts); err != nil {
			return err
		}
	}
	return nil
}

// complete reports whether the configuration asks for images that bundles do not list.
func (r *selectedCatalog) complete() bool {
	return r.op.RelatedImages == imageset.RelatedImagesComplete
}

// ReadBundle reads the image of a bundle. The result has all manifests as olm.bundle.object properties.
func ReadBundle(ctx context.Context, images image.Reader, name string) (*catalog.Bundle, error) {
	ref, err := reference.Parse(name)
	if err != nil {
		return nil, err
	}
	src, err := source.Open(ctx, source.From{Images: images}, ref.String())
	if err != nil {
		return nil, err
	}
	if src.Kind != source.Bundle {
		return nil, fmt.Errorf("%s is not the image of a bundle", name)
	}
	c, err := src.Read(ctx, catalog.Options{})
	if err != nil {
		return nil, err
	}
	for _, p := range c.Packages {
		for _, inside := range p.Bundles {
			return inside, nil
		}
	}
	return nil, fmt.Errorf("%s contains no bundle", name)
}

// unlistedOf returns the images that a bundle uses and does not list. References are compared by what they
// pull: one with a digest by repository and digest, whatever its tag, the others by repository and tag.
func unlistedOf(b *catalog.Bundle, used []excerpt.UsedImage) unlistedImages {
	listed, byDigest := map[string]bool{}, map[digest.Digest]string{}
	for _, r := range append([]catalog.RelatedImage{{Image: b.Image}}, b.RelatedImages...) {
		if ref, err := reference.Parse(r.Image); err == nil {
			listed[pulled(ref).String()] = true
			byDigest[ref.Digest] = cmp.Or(byDigest[ref.Digest], ref.String())
		}
	}
	var u unlistedImages
	byImage := map[string]*plan.UnlistedImage{}
	name := map[string]string{}
	for _, x := range used {
		ref, err := reference.Parse(x.Image)
		if err != nil {
			u.notes = append(u.notes, fmt.Sprintf("bundle %s: %s names %q, which is not the reference of an image", b.Name, x.Where, x.Image))
			continue
		}
		key := pulled(ref).String()
		if listed[key] {
			continue
		}
		if byImage[key] == nil {
			byImage[key] = &plan.UnlistedImage{Package: b.Package, Bundle: b.Name, Image: withTag(ref).String()}
			if ref.Digest != "" {
				byImage[key].ListedAs = byDigest[ref.Digest]
			}
			name[key] = x.Name
		}
		if where := byImage[key]; !slices.Contains(where.Found, x.Where) {
			where.Found = append(where.Found, x.Where)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byImage)) {
		u.images, u.names = append(u.images, *byImage[key]), append(u.names, name[key])
	}
	return u
}

// withTag returns a reference with the tag that is pulled if it has none.
func withTag(ref reference.Reference) reference.Reference {
	if ref.Identifier() == "" {
		ref.Tag = "latest"
	}
	return ref
}

// pulled returns a reference without the tag if it has a digest, which is pulled then.
func pulled(ref reference.Reference) reference.Reference {
	if ref.Digest != "" {
		ref.Tag = ""
	}
	return withTag(ref)
}

// addUnlisted requests the images that bundles do not list, if the configuration asks for them.
func (r *selectedCatalog) addUnlisted(set *requestSet) error {
	if !r.complete() {
		return nil
	}
	for i, u := range r.unlisted.images {
		reason := plan.Reason{Catalog: r.entry.Name(), Package: u.Package, Bundle: u.Bundle, Name: r.unlisted.names[i]}
		if err := set.addReference(u.Image, imageRequest{kind: plan.RelatedImage, reasons: []plan.Reason{reason}, platforms: r.op.Platforms, rewrite: r.rewrites()}); err != nil {
			return fmt.Errorf("catalog %s: bundle %s: %w", r.op.Catalog, u.Bundle, err)
		}
	}
	return nil
}

// withUnlisted returns the catalogs with the images that their bundles do not list, and notes on those that
// the plan does not have. selected are the catalogs in the same order.
func withUnlisted(catalogs []plan.Catalog, selected []*selectedCatalog, images []plan.Image) ([]plan.Catalog, []string) {
	mirrored := map[string]bool{}
	for _, img := range images {
		if ref, err := reference.Parse(img.Source); err == nil {
			mirrored[ref.String()] = true
			mirrored[pulled(ref).String()] = true
		}
	}
	all := slices.Clone(catalogs)
	var notes []string
	for i, r := range selected {
		c := &all[i]
		c.Unlisted = slices.Clone(r.unlisted.images)
		bundles, images := map[string]bool{}, map[string]bool{}
		for j := range c.Unlisted {
			u := &c.Unlisted[j]
			ref, err := reference.Parse(u.Image)
			u.Mirrored = err == nil && mirrored[pulled(ref).String()]
			if !u.Mirrored {
				bundles[u.Bundle], images[u.Image] = true, true
			}
		}
		elements.Sort(c.Unlisted, func(a, b plan.UnlistedImage) int {
			return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Bundle, b.Bundle), strings.Compare(a.Image, b.Image))
		})
		notes = append(notes, r.unlisted.notes...)
		if n := r.unlisted.unseen; n > 0 && !r.complete() {
			notes = append(notes, fmt.Sprintf("%s: whether %s all images in relatedImages is unknown, because the catalog does not have the deployments; relatedImages: complete reads the bundles",
				c.Name(), count(n, "bundle lists", "bundles list")))
		}
		if len(images) > 0 && !r.complete() {
			notes = append(notes, fmt.Sprintf("%s: %s %s that relatedImages does not list and that the plan does not have; relatedImages: complete adds them",
				c.Name(), count(len(bundles), "bundle uses", "bundles use"), count(len(images), "image", "images")))
		}
	}
	return all, notes
}
