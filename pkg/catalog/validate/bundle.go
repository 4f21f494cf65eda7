package validate

import (
	"cmp"
	_ "crypto/sha256" // go-digest only accepts digests whose hash is linked in
	_ "crypto/sha512"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// bundles checks the bundles of a package.
func (r *report) bundles(p *catalog.Package) {
	entries := map[string]bool{}
	for _, c := range p.Channels {
		for _, e := range c.Entries {
			entries[e.Name] = true
		}
	}
	seen := map[string]bool{}
	versions := map[string][]*catalog.Bundle{}
	for _, b := range p.Bundles {
		if seen[b.Name] {
			r.add(BundleDuplicate, b.Meta, "package %q has a duplicate bundle %q", p.Name, b.Name)
			continue
		}
		seen[b.Name] = true
		switch {
		case b.Name == "":
			r.add(BundleName, b.Meta, "package %q has a bundle without a name", p.Name)
		case !entries[b.Name]:
			r.add(BundleOrphan, b.Meta, "package %q: bundle %q is in no channel", p.Name, b.Name)
		}
		r.images(b, r.properties(b))
		if version := r.version(b); version != "" {
			versions[version] = append(versions[version], b)
		}
	}
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		same := versions[version]
		if len(same) < 2 {
			continue
		}
		elements.Sort(same, func(a, b *catalog.Bundle) int { return cmp.Compare(a.Name, b.Name) })
		names := make([]string, len(same))
		for i, b := range same {
			names[i] = b.Name
		}
		r.add(VersionTwice, same[1].Meta, "package %q has version %s more than once: %s", p.Name, version, strings.Join(names, ", "))
	}
}

// images checks the references of a bundle. A bundle with manifests in its properties needs no
// image.
func (r *report) images(b *catalog.Bundle, objects int) {
	if b.Image == "" && objects == 0 {
		r.add(BundleImage, b.Meta, "package %q, bundle %q has no image", b.Package, b.Name)
	}
	if err := image(b.Image); err != nil {
		r.add(BundleImage, b.Meta, "package %q, bundle %q: the image %q is not a reference: %v", b.Package, b.Name, b.Image, err)
	}
	for i, related := range b.RelatedImages {
		if err := image(related.Image); err != nil {
			r.add(RelatedImage, b.Meta, "package %q, bundle %q: relatedImages[%d] %q is not a reference: %v", b.Package, b.Name, i, related.Image, err)
		}
	}
}

// image returns why a text is not a reference. As in opm, an empty one is valid.
func image(ref string) error {
	if ref == "" {
		return nil
	}
	_, err := reference.Parse(ref)
	return errors.Unwrap(err) // the caller names the reference
}
