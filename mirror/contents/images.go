package contents

import (
	"context"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// An Image is an image that bundles of a catalog name, or one in a mirror or an archive.
type Image struct {
	Place string `json:"place,omitempty"` // the mirror or archive; "" for one of a catalog
	// Names are its references: in the mirror, with the host if Place is one, or in the catalog.
	Names []string `json:"names"`
	// Kind is "" in a mirror without records, unless its repository or a catalog says it. Source is "" there.
	Kind   plan.ImageKind `json:"kind"`
	Digest digest.Digest  `json:"digest,omitempty"` // "" if the catalog names it by a tag
	Source string         `json:"source"`
	// Bundles are those that name it, and Packages theirs.
	Packages []string `json:"packages,omitempty"`
	Bundles  []string `json:"bundles,omitempty"`
	Stored
}

// Images lists images by name, digest and source, and by the bundles and packages that name them.
func Images(ctx context.Context, o Options) (*List, error) {
	in, err := o.open(ctx, "images", false)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	list, matches := &List{Version: 1, Images: []Image{}}, o.matcher()
	take := func(img *Image) bool {
		return (o.Package == "" || slices.ContainsFunc(img.Packages, func(p string) bool { return matches.pkg.match(p) })) &&
			matches.names(slices.Concat(img.Names, []string{string(img.Digest), img.Source}, img.Packages, img.Bundles)...)
	}
	for _, s := range in.stocks {
		for i := range s.plan.Images {
			planned := &s.plan.Images[i]
			img := Image{Place: s.place, Kind: planned.Kind, Digest: planned.Digest, Source: planned.Source}
			for _, tag := range planned.Tags {
				img.Names = append(img.Names, s.name(planned.Repository)+":"+tag)
			}
			if len(planned.Tags) == 0 {
				img.Names = []string{s.name(planned.Repository) + "@" + string(planned.Digest)}
			}
			for _, r := range planned.Reasons {
				img.Packages, img.Bundles = with(img.Packages, r.Package), with(img.Bundles, r.Bundle)
			}
			if !take(&img) {
				continue
			}
			img.Stored = s.at(in.at, []*plan.Image{planned})
			list.Images = append(list.Images, img)
		}
	}
	if err := in.catalogImages(ctx, list, matches, take); err != nil {
		return nil, err
	}
	matches.noteNone(in.env, "images")
	return list, nil
}

// catalogImages adds the images of mirrors without records, and those that bundles of catalogs name, for catalogs that are in no
// mirror or archive.
func (in *opened) catalogImages(ctx context.Context, list *List, matches *matcher, take func(*Image) bool) error {
	in.catalogs = slices.DeleteFunc(in.catalogs, func(c openCatalog) bool { return c.stock != nil })
	all, err := in.read(ctx, matches)
	if err != nil {
		return err
	}
	known := map[string]*Image{}
	var refs []string
	for _, f := range in.found {
		var packages []listing.CatalogPackage
		for k, c := range in.catalogs {
			if c.found == f {
				packages = append(packages, all[k]...)
			}
		}
		for _, img := range f.images(packages) {
			if take(&img) {
				list.Images = append(list.Images, img)
			}
		}
	}
	for k, packages := range all {
		if in.catalogs[k].found != nil {
			continue
		}
		for _, p := range packages {
			for _, b := range p.Bundles {
				for i, ref := range b.Images {
					img := known[ref]
					if img == nil {
						img = &Image{Names: []string{ref}, Kind: plan.RelatedImage, Source: ref}
						if r, err := reference.Parse(ref); err == nil {
							img.Digest = r.Digest
						}
						known[ref], refs = img, append(refs, ref)
					}
					if i == 0 {
						img.Kind = plan.BundleImage
					}
					img.Packages, img.Bundles = with(img.Packages, p.Name), with(img.Bundles, b.Name)
				}
			}
		}
	}
	slices.Sort(refs)
	for _, ref := range refs {
		img := known[ref]
		if !take(img) {
			continue
		}
		if img.Stored, err = in.stored(ctx, nil, nil, []string{ref}, "image "+ref); err != nil {
			return err
		}
		list.Images = append(list.Images, *img)
	}
	return nil
}
