package plan

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Removal says what is removed from a plan.
type Removal struct {
	// Selects reports whether a reason for an image is gone. An image without other reasons is removed, with
	// what belongs to it, and so is the catalog, release, chart or file that it is.
	Selects func(*Image, *Reason) bool
	// Catalogs were built again and replace those of the same name. Manifests and Blobs are the content of their
	// images, sorted by digest.
	Catalogs  []Catalog
	Manifests []Manifest
	Blobs     []Blob
	// Notes and Blocked are added to those of the plan.
	Notes   []string
	Blocked []Blocked
}

// Remove returns the plan without what is removed.
func (p *Plan) Remove(r Removal) (*Plan, error) {
	rest := func(img *Image, all []Reason) []Reason {
		return slices.DeleteFunc(slices.Clone(all), func(b Reason) bool { return r.Selects(img, &b) })
	}
	rebuilt := map[string]*Catalog{}
	for i := range r.Catalogs {
		rebuilt[r.Catalogs[i].Name()] = &r.Catalogs[i]
	}
	content, err := (&Plan{Manifests: r.Manifests, Blobs: r.Blobs}).Contents()
	if err != nil {
		return nil, err
	}
	images := []Image{}
	for i := range p.Images {
		img := p.Images[i]
		reasons := rest(&img, img.Reasons)
		if len(reasons) == 0 && len(img.Reasons) > 0 {
			continue
		}
		keepKind(&img, reasons)
		img.Reasons = reasons
		if c := rebuilt[img.Catalog]; c != nil && img.Kind == CatalogImage {
			img.Digest, img.Tags = c.Digest, []string{c.Tag}
			if img.Size, _, err = content.size(c.Digest); err != nil {
				return nil, err
			}
		}
		images = append(images, img)
	}
	elements.Sort(images, CompareImages)
	q := p.having(images)
	for i, c := range q.Catalogs {
		if n := rebuilt[c.Name()]; n != nil {
			q.Catalogs[i] = *n
		}
	}
	q.Missing, q.Blocked = nil, nil
	for _, m := range p.Missing {
		if m.Reasons = rest(&Image{Source: m.Source, Kind: m.Kind}, m.Reasons); len(m.Reasons) > 0 {
			q.Missing = append(q.Missing, m)
		}
	}
	for _, b := range p.Blocked {
		if b.Reasons = rest(&Image{Source: b.Source}, b.Reasons); len(b.Reasons) > 0 {
			q.Blocked = append(q.Blocked, b)
		}
	}
	q.Blocked = append(q.Blocked, r.Blocked...)
	q.Notes = append(slices.Clone(p.Notes), r.Notes...)
	q.unblock(func(b Blocker) bool { return !q.hasPackage(b.Catalog, b.Package) })
	q.Notes = slices.Compact(slices.Sorted(slices.Values(q.Notes)))
	return q, q.gatherOwned(union(p.Manifests, r.Manifests, Manifest.digest), union(p.Blobs, r.Blobs, Blob.digest))
}

// having returns the plan with other images. Catalogs, releases, charts, files and graph data stay if their own images do,
// and updates if all of their releases do.
func (p *Plan) having(images []Image) *Plan {
	q := *p
	q.Images, q.Catalogs, q.GraphData = images, nil, nil
	type at struct{ source, repository string }
	kept, published := map[at]bool{}, map[Publishable]bool{}
	for i := range images {
		img := &images[i]
		kept[at{img.Source, img.Repository}] = true
		what, _ := img.Publishable()
		published[what] = true
		if img.Kind == GraphImage {
			q.GraphData = p.GraphData
		}
	}
	for _, c := range p.Catalogs {
		if published[Publishable{Catalog: c.Name()}] {
			q.Catalogs = append(q.Catalogs, c)
		}
	}
	lost := func(release string) bool { return !published[Publishable{Release: release}] }
	q.Releases = slices.DeleteFunc(slices.Clone(p.Releases), func(r Release) bool { return lost(r.Name()) })
	q.Updates = slices.DeleteFunc(slices.Clone(p.Updates), func(u UpdatePath) bool {
		return slices.ContainsFunc(u.Versions(), func(v string) bool { return lost(release.Name(v, u.Arch)) })
	})
	q.Charts = slices.DeleteFunc(slices.Clone(p.Charts), func(c Chart) bool { return !kept[at{c.Source, c.Repository}] })
	q.Files = slices.DeleteFunc(slices.Clone(p.Files), func(f File) bool { return !kept[at{f.Source, f.Repository}] })
	return &q
}

// keepKind makes a catalog, release or graph that is removed an ordinary image, if other reasons for it remain.
func keepKind(img *Image, remain []Reason) {
	switch img.Kind {
	case CatalogImage:
		if !slices.ContainsFunc(remain, func(r Reason) bool { return r.Catalog == img.Catalog && r.Bundle == "" }) {
			img.Kind, img.Catalog = AdditionalImage, ""
		}
	case ReleaseImage:
		if len(img.Reasons) > 0 && !slices.Contains(remain, img.Reasons[0]) {
			img.Kind = AdditionalImage
		}
	case GraphImage:
		if !slices.ContainsFunc(remain, func(r Reason) bool { return r.List == "platform" }) {
			img.Kind = AdditionalImage
		}
	}
}

// hasPackage reports whether a catalog of the plan has a package.
func (p *Plan) hasPackage(catalog, name string) bool {
	return slices.ContainsFunc(p.Catalogs, func(c Catalog) bool {
		return c.Name() == catalog && slices.ContainsFunc(c.Packages, func(pkg Package) bool { return pkg.Name == name })
	})
}
