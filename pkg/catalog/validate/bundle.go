package validate

import (
	"cmp"
	_ "crypto/sha256" // go-digest takes only digests whose hash is linked in
	_ "crypto/sha512"
	"maps"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// bundles judges the bundles of a package.
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
			r.add(BundleDuplicate, b.Meta, "package %q has bundle %q a second time", p.Name, b.Name)
			continue
		}
		seen[b.Name] = true
		switch {
		case b.Name == "":
			r.add(BundleName, b.Meta, "package %q has a bundle without a name", p.Name)
		case !entries[b.Name]:
			r.add(BundleOrphan, b.Meta, "package %q: bundle %q is in none of its channels", p.Name, b.Name)
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
		slices.SortFunc(same, func(a, b *catalog.Bundle) int { return cmp.Compare(a.Name, b.Name) })
		names := make([]string, len(same))
		for i, b := range same {
			names[i] = b.Name
		}
		r.add(VersionTwice, same[1].Meta, "package %q has version %s more than once: %s", p.Name, version, strings.Join(names, ", "))
	}
}

// images judges the references of a bundle. A bundle whose manifests are in its
// properties needs no image.
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

// image says why a text is not a reference. An empty one passes, as with opm.
func image(ref string) error {
	if ref == "" {
		return nil
	}
	_, err := reference.ParseNormalizedNamed(ref)
	return err
}
