package site

import (
	"strings"

	"github.com/opencontainers/go-digest"

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
	// Installed are bundles that clusters run, by package and name: they stay with the images that they name.
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
	var images []plan.Image
	var found []string
	var installed [][2]string
	for i := range p.Images {
		img := &p.Images[i]
		var named bool
		for _, b := range img.Reasons {
			bundle := [2]string{b.Package, b.Bundle}
			if n.Installed[bundle] {
				installed = append(installed, bundle)
			}
			named = named || catalogs[b.Catalog] || releases && b.Release != "" || n.Installed[bundle]
		}
		if n.Missing[img.Source] {
			found = append(found, img.Source)
		}
		if named || catalogs[img.Catalog] && img.Kind == plan.CatalogImage || n.Missing[img.Source] {
			images = append(images, *img)
		}
	}
	if len(images) == 0 {
		return nil, nil
	}
	for _, source := range found {
		delete(n.Missing, source)
	}
	for _, bundle := range installed {
		delete(n.Installed, bundle)
	}
	images, err := p.WithAttached(images)
	if err != nil {
		return nil, err
	}
	type key struct {
		repository string
		digest     digest.Digest
		tag        string
	}
	keyOf := func(img *plan.Image) key {
		return key{img.Repository, img.Digest, strings.Join(img.Tags, " ")}
	}
	wanted := map[key]bool{}
	for i := range images {
		wanted[keyOf(&images[i])] = true
	}
	return func(img *plan.Image) bool { return wanted[keyOf(img)] }, nil
}
