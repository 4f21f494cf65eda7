package plan

import "slices"

// A Whole is a catalog or a release: what is published only when everything that
// it names is there. One of its fields is set; they are the names that the plan
// has (Catalog.Name, Release.Name).
type Whole struct{ Catalog, Release string }

func (w Whole) String() string {
	if w.Release != "" {
		return "release " + w.Release
	}
	return "catalog " + w.Catalog
}

// Has reports whether the catalog or release is in the plan.
func (p *Plan) Has(w Whole) bool {
	return w.Catalog != "" && slices.ContainsFunc(p.Catalogs, func(c Catalog) bool { return c.Name() == w.Catalog }) ||
		w.Release != "" && slices.ContainsFunc(p.Releases, func(r Release) bool { return r.Name() == w.Release })
}

// Whole is the catalog or release whose own image this is.
func (img *Image) Whole() (Whole, bool) {
	switch {
	case img.Kind == CatalogImage:
		return Whole{Catalog: img.Catalog}, true
	case img.Kind == ReleaseImage && len(img.Because) > 0:
		return Whole{Release: img.Because[0].Release}, true
	}
	return Whole{}, false
}

// Whole is the catalog or release that this reason says needs an image.
func (b Because) Whole() (Whole, bool) {
	w := Whole{Catalog: b.Catalog, Release: b.Release}
	return w, w != Whole{}
}
