package site

import (
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A Needed is what the current revision of an image set needs of earlier ones.
type Needed struct {
	// Published are catalogs in the mirror, by tag and digest, that are not those of the current revision.
	Published map[reference.Reference]bool
	// Missing are the sources of images that are unavailable.
	Missing map[string]bool
	// Releases means that a release of the current revision is not published, so that those before it stay.
	Releases bool
	// Installed are bundles that clusters run, by package and name or version: they stay with the images that they name.
	Installed map[[2]string]bool
}

// Empty reports whether nothing is needed.
func (n *Needed) Empty() bool {
	return len(n.Published)+len(n.Missing)+len(n.Installed) == 0 && !n.Releases
}

// Find returns which images of an earlier plan are needed, nil if none is, and removes from n what it found.
func (n *Needed) Find(p *plan.Plan, names map[string]reference.Reference) (func(*plan.Image) bool, error) {
	catalogs := map[string]bool{}
	for i := range p.Catalogs {
		c := &p.Catalogs[i]
		at := names[c.Repository].WithTag(c.Tag)
		at.Digest = c.Digest
		if n.Published[at] {
			catalogs[c.Name()] = true
			delete(n.Published, at)
		}
	}
	releases := n.Releases && len(p.Releases) > 0
	n.Releases = n.Releases && !releases
	versions := map[[2]string]string{} // of bundles
	for i := range p.Catalogs {
		for _, pkg := range p.Catalogs[i].Packages {
			for _, channel := range pkg.Channels {
				for _, b := range channel.Bundles {
					versions[[2]string{pkg.Name, b.Name}] = b.Version
				}
			}
		}
	}
	keysOf := func(b plan.Reason) (name, version [2]string) {
		name = [2]string{b.Package, b.Bundle}
		return name, [2]string{b.Package, versions[name]}
	}
	var images []plan.Image
	for i := range p.Images {
		img := &p.Images[i]
		named := slices.ContainsFunc(img.Reasons, func(b plan.Reason) bool {
			name, version := keysOf(b)
			return catalogs[b.Catalog] || releases && b.Release != "" || n.Installed[name] || n.Installed[version]
		})
		if named || catalogs[img.Catalog] && img.Kind == plan.CatalogImage || n.Missing[img.Source] {
			images = append(images, *img)
		}
	}
	if len(images) == 0 {
		return nil, nil
	}
	for i := range images {
		delete(n.Missing, images[i].Source)
		for _, b := range images[i].Reasons {
			name, version := keysOf(b)
			delete(n.Installed, name)
			delete(n.Installed, version)
		}
	}
	images, err := p.WithAttached(images)
	if err != nil {
		return nil, err
	}
	keyOf := func(img *plan.Image) [3]string {
		return [3]string{img.Repository, img.Digest.String(), strings.Join(img.Tags, " ")}
	}
	wanted := map[[3]string]bool{}
	for i := range images {
		wanted[keyOf(&images[i])] = true
	}
	return func(img *plan.Image) bool { return wanted[keyOf(img)] }, nil
}
