package plan

import "slices"

// A Publishable is a catalog or a release: it is published only if all images that it names are in
// the mirror. One of its fields is set, to the name in the plan (Catalog.Name, Release.Name).
type Publishable struct{ Catalog, Release string }

func (p Publishable) String() string {
	if p.Release != "" {
		return "release " + p.Release
	}
	return "catalog " + p.Catalog
}

// Has reports whether the catalog or release is in the plan.
func (p *Plan) Has(what Publishable) bool {
	return what.Catalog != "" && slices.ContainsFunc(p.Catalogs, func(c Catalog) bool { return c.Name() == what.Catalog }) ||
		what.Release != "" && slices.ContainsFunc(p.Releases, func(r Release) bool { return r.Name() == what.Release })
}

// Publishable returns the catalog or release whose own image this is.
func (img *Image) Publishable() (Publishable, bool) {
	switch {
	case img.Kind == CatalogImage:
		return Publishable{Catalog: img.Catalog}, true
	case img.Kind == ReleaseImage && len(img.Reasons) > 0:
		return Publishable{Release: img.Reasons[0].Release}, true
	}
	return Publishable{}, false
}

// Publishable returns the catalog or release that needs the image.
func (r Reason) Publishable() (Publishable, bool) {
	p := Publishable{Catalog: r.Catalog, Release: r.Release}
	return p, p != Publishable{}
}
