package contents

import (
	"context"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// A Catalog is a catalog by itself, or in a mirror or an archive.
type Catalog struct {
	Name  string `json:"name"` // of its source; its Image in a mirror without records
	Place string `json:"place,omitempty"`
	// Image is its "repository:tag" in the mirror, with the host if Place is one; "" for a catalog by itself.
	Image    string        `json:"image,omitempty"`
	Digest   digest.Digest `json:"digest,omitempty"` // in the mirror
	Packages int           `json:"packages"`
	Bundles  int           `json:"bundles"`
	// Images is the number of different images that its bundles name.
	Images int `json:"images"`
	Stored     // the catalog with the images of its bundles
}

// Catalogs lists catalogs by the name of their source, and by their image.
func Catalogs(ctx context.Context, o Options) (*List, error) {
	in, err := o.open(ctx, "catalogs", false)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	list, matches := &List{Version: 1, Catalogs: []Catalog{}}, o.matcher()
	for i := range in.catalogs {
		c := &in.catalogs[i]
		out := Catalog{Name: c.name, Place: c.place}
		if c.found != nil {
			out.Image = c.name
		}
		if c.stock != nil {
			out.Image, out.Digest = c.stock.name(c.of.Repository)+":"+c.of.Tag, c.of.Digest
		}
		if !matches.names(c.name, out.Image) {
			continue
		}
		packages, _, err := listing.ReadFacts(ctx, c.name, c.read, nil)
		if err != nil {
			return nil, err
		}
		var bundles []listing.CatalogBundle
		for _, p := range packages {
			bundles = append(bundles, p.Bundles...)
		}
		refs, stored, err := in.storedBundles(ctx, c, "catalog "+c.name, bundles)
		if err != nil {
			return nil, err
		}
		if c.stock != nil {
			at := stored.At
			stored = c.stock.of(c.stock.because(func(r plan.Reason) bool { return r.Catalog == c.of.Name() }, c.of.Name())...)
			stored.At = at
		}
		out.Packages, out.Bundles, out.Images, out.Stored = len(packages), len(bundles), len(refs), stored
		list.Catalogs = append(list.Catalogs, out)
	}
	matches.noteNone(in.env, "catalogs")
	return list, nil
}
