package site

import (
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A Needed is what the current revision of an image set needs of earlier ones.
type Needed struct {
	// Published are catalogs in the mirror, by tag and digest, that are not those of the current revision.
	Published map[reference.Reference]bool
	// Missing are the sources of images that are unavailable.
	Missing map[string]bool
	// Releases means that a release of the current revision is not published, so that those before it stay.
	Releases bool
	// Installed are operators that clusters run. Their bundles and what these name stay.
	Installed []state.ClusterOperator
}

// Empty reports whether nothing is needed.
func (n *Needed) Empty() bool {
	return len(n.Published)+len(n.Missing)+len(n.Installed) == 0 && !n.Releases
}

// FindInstalled returns the bundles of installed operators that a plan has, by package and name, and removes these
// operators from n.
func (n *Needed) FindInstalled(p *plan.Plan) map[[2]string]bool {
	bundles := map[[2]string]bool{}
	if len(n.Installed) == 0 {
		return bundles
	}
	versions := map[[2]string]string{}
	for i := range p.Catalogs {
		for _, pkg := range p.Catalogs[i].Packages {
			for _, ch := range pkg.Channels {
				for _, b := range ch.Bundles {
					versions[[2]string{pkg.Name, b.Name}] = b.Version
				}
			}
		}
	}
	n.Installed = slices.DeleteFunc(slices.Clone(n.Installed), func(o state.ClusterOperator) (found bool) {
		for key, version := range versions {
			if key[0] == o.Package && (key[1] == o.Bundle || o.Bundle == "" && version == o.Version) {
				bundles[key], found = true, true
			}
		}
		return found
	})
	return bundles
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
	bundles := n.FindInstalled(p)
	releases := n.Releases && len(p.Releases) > 0
	n.Releases = n.Releases && !releases
	var images []plan.Image
	var found []string
	for i := range p.Images {
		img := &p.Images[i]
		named := slices.ContainsFunc(img.Reasons, func(b plan.Reason) bool {
			return catalogs[b.Catalog] || releases && b.Release != "" || bundles[[2]string{b.Package, b.Bundle}]
		})
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
