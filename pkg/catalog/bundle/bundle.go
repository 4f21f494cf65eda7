// Package bundle converts an operator bundle to the olm.bundle object of a file-based catalog.
//
// A registry+v1 bundle is one version of an operator: a folder manifests/ with a
// ClusterServiceVersion, its CustomResourceDefinitions and other objects, and a folder metadata/
// whose files name its package and channels and list its dependencies. It is a folder, or an image
// that contains only these files.
//
// [Read] reads such files into a [Bundle]. [Bundle.Meta] renders it for a catalog, with every
// manifest in an olm.bundle.object property. [Migrate] converts such an object to the smaller form,
// which has everything that clients show of the operator in one olm.csv.metadata property.
// [Encode], [Object] and [Requirement] are shared by all readers of bundles, so that the same
// bundle gives the same bytes whatever its source.
//
// The rules are those of operator-registry (alpha/action/render.go and pkg/registry, v1.73.0). If
// operator-registry silently ignores a mistake and the catalog would be incomplete, Read reports
// it: as an error with file and line, or in [Bundle.Warnings].
package bundle

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Bundle is the content of an operator bundle.
type Bundle struct {
	Name    string // the name of the ClusterServiceVersion
	Package string
	Version string // a semantic version
	Release string // set if there are several bundles of the version, usually ""

	// Warnings report what was ignored, one sentence each, with its position.
	Warnings []string

	properties []catalog.Property
	images     []catalog.RelatedImage
	objects    [][]byte // the manifests as JSON, in the order of their files
}

// Meta returns the bundle as an object of a catalog, with an olm.bundle.object property for every
// manifest. The image is the reference that clusters pull. It is empty if it is unknown.
func (b *Bundle) Meta(image string) (*catalog.Meta, error) {
	c := catalog.Bundle{Package: b.Package, Name: b.Name, Image: image}
	c.Properties = append(c.Properties, b.properties...)
	for _, o := range b.objects {
		c.Properties = append(c.Properties, Object(o))
	}
	c.RelatedImages = withImage(b.images, image)
	m, err := Encode(&c)
	if err != nil {
		return nil, fmt.Errorf("writing bundle %s: %w", b.Name, err)
	}
	return m, nil
}
