package upgrade

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// unnamedImages returns the images that an installed bundle runs and that no bundle of its package in
// the mirror names, sorted: they were never copied, or are no longer kept. There are none if the mirror
// has the bundle, or does not have the package.
func unnamedImages(o installed.Operator, catalogs []Catalog) []string {
	if len(o.Images) == 0 || o.Package == "" {
		return nil
	}
	named := map[string]bool{}
	for _, k := range catalogs {
		p := k.Kept.Package(o.Package)
		switch {
		case p == nil:
			continue
		case p.Bundle(o.Bundle) != nil:
			return nil
		}
		for _, b := range p.Bundles {
			for _, r := range append([]catalog.RelatedImage{{Image: b.Image}}, b.RelatedImages...) {
				named[pulledName(r.Image)] = true
			}
		}
	}
	if len(named) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(o.Images), func(image string) bool { return named[pulledName(image)] })
}

// pulledName returns what a reference pulls: a tag beside a digest does not count.
func pulledName(image string) string {
	ref, err := reference.Parse(image)
	if err != nil {
		return image
	}
	if ref.Digest != "" {
		ref.Tag = ""
	}
	return ref.String()
}
