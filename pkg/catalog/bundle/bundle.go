// Package bundle turns an operator bundle into the olm.bundle object that stands
// for it in a file-based catalog.
//
// A registry+v1 bundle is one version of an operator: a folder manifests/ with a
// ClusterServiceVersion, its CustomResourceDefinitions and other objects, and a
// folder metadata/ whose files say which package and channels it is meant for and
// what it needs. It comes as a folder, or as an image whose only content that is.
//
// Read takes such files and gives a Bundle: what they say. Bundle.Meta renders it
// for a catalog, in either of two forms. The one is made for catalogs: everything
// that clients show of the operator, in one olm.csv.metadata property. The other
// is the older one: every manifest as it is, in olm.bundle.object properties.
// Migrate turns the second form of an object that is in a catalog already into
// the first. Encode, Object and Requirement
// are the parts that other readers of bundles share, so that the same bundle gives
// the same bytes whichever way it came.
//
// The rules are those of operator-registry (alpha/action/render.go and
// pkg/registry, v1.73.0). Where that passes over a mistake in silence and
// something would be missing from the catalog, Read says so instead: an error
// with file and line, or a line in Bundle.Warnings.
package bundle

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Bundle is what the files of an operator bundle say.
type Bundle struct {
	Name    string // that of the ClusterServiceVersion
	Package string
	Version string // a semantic version
	Release string // of a bundle that is one of several of its version, mostly ""

	// Warnings are what was passed over, a sentence each, with its place.
	Warnings []string

	properties []catalog.Property
	images     []catalog.RelatedImage
	objects    [][]byte // the manifests as JSON, in the order of their files
	csv        []byte   // one of them
}

// A Form is how an olm.bundle carries the bundle's manifests.
type Form int

// The forms.
const (
	// Excerpt is one olm.csv.metadata property with what clients show. A bundle
	// without an image cannot have it: its manifests are nowhere else.
	Excerpt Form = iota
	// Objects is an olm.bundle.object property for every manifest, which servers
	// of catalogs from before 2023 need.
	Objects
)

// Meta is the bundle as an object of a catalog. The image is the reference that a
// cluster pulls it by; without one the form is [Objects].
func (b *Bundle) Meta(image string, form Form) (*catalog.Meta, error) {
	c := catalog.Bundle{Package: b.Package, Name: b.Name, Image: image}
	c.Properties = append(c.Properties, b.properties...)
	if form == Excerpt && image != "" {
		p, err := excerpt(b.csv)
		if err != nil {
			return nil, err
		}
		c.Properties = append(c.Properties, p)
	} else {
		for _, o := range b.objects {
			c.Properties = append(c.Properties, Object(o))
		}
	}
	c.RelatedImages = withImage(b.images, image)
	m, err := Encode(&c)
	if err != nil {
		return nil, fmt.Errorf("writing bundle %s: %w", b.Name, err)
	}
	return m, nil
}
