package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Excluded is a package that was removed from a catalog because images that its bundles name are
// unavailable.
type Excluded struct {
	Package string `json:"package"`
	// Images are the sources of those images, sorted.
	Images []string `json:"images"`
}

// Reduced is a plan without the packages whose images are missing.
type Reduced struct {
	Plan *Plan
	// Catalogs are the names of the catalogs that were built again. The plan lists the packages
	// that each of them excludes.
	Catalogs []string
	// NotReduced has the reason why a catalog that names missing images was not built again, by its
	// name: nothing would be left of it, or its content cannot be read.
	NotReduced map[string]string
}

// Replace returns the plan with rebuilt catalogs in place of those of the same name. It drops the
// images that only excluded packages of these catalogs name. manifests and blobs are the content of
// the new catalog images, sorted by digest; notes are added to those of the plan.
func (p *Plan) Replace(catalogs []Catalog, manifests []Manifest, blobs []Blob, notes []string) (*Plan, error) {
	excluded := map[Reason]bool{} // catalog and package
	notes = slices.Clone(notes)
	for _, c := range catalogs {
		for _, x := range c.Excluded {
			excluded[Reason{Catalog: c.Name(), Package: x.Package}] = true
		}
		if p.signed(c.Name()) {
			notes = append(notes, fmt.Sprintf("catalog %s was built again: the signatures and other referrers of the original do not cover it and are left out", c.Name()))
		}
	}
	q, err := p.Remove(Removal{
		Selects:  func(_ *Image, r *Reason) bool { return excluded[Reason{Catalog: r.Catalog, Package: r.Package}] },
		Catalogs: catalogs, Manifests: manifests, Blobs: blobs, Notes: notes,
	})
	if err != nil {
		return nil, err
	}
	q.Blocked = p.Blocked
	return q, nil
}

// signed reports whether the plan has signatures or other referrers of the image of a catalog.
func (p *Plan) signed(catalog string) bool {
	i := slices.IndexFunc(p.Images, func(img Image) bool { return img.Kind == CatalogImage && img.Catalog == catalog })
	return i >= 0 && slices.ContainsFunc(p.Images, func(img Image) bool {
		return img.Repository == p.Images[i].Repository && img.Subject == p.Images[i].Digest
	})
}

// union merges two lists that are sorted by digest. Of two equal entries it keeps the one of a.
func union[T any](a, b []T, by func(T) digest.Digest) []T {
	all := slices.Concat(a, b)
	elements.Sort(all, func(x, y T) int { return strings.Compare(string(by(x)), string(by(y))) })
	return slices.CompactFunc(all, func(x, y T) bool { return by(x) == by(y) })
}

func (m Manifest) digest() digest.Digest { return m.Digest }
func (b Blob) digest() digest.Digest     { return b.Digest }
