package diff

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// maxValue is the maximum size in bytes of a property value that is listed.
const maxValue = 512

// bundles compares the bundles of a package. It returns the names of bundles in both whose version
// differs, since that may change edges.
func (d *Diff) bundles(pkg string, before, after *catalog.Package) []string {
	var moved []string
	for _, both := range pair(before.Bundles, after.Bundles, func(b *catalog.Bundle) string { return b.Name }) {
		b := Bundle{Change: both.change(), Package: pkg}
		old, now := both.before, both.after
		switch b.Change {
		case Added:
			b.Name, b.Version, b.Image = now.Name, changed("", version(now)), changed("", now.Image)
		case Removed:
			b.Name, b.Version, b.Image = old.Name, changed(version(old), ""), changed(old.Image, "")
		case Changed:
			names := differing(old.Meta.Raw, now.Meta.Raw)
			if len(names) == 0 {
				continue
			}
			b.Name = old.Name
			b.detail(old, now, names)
			if b.Version != nil {
				moved = append(moved, b.Name)
			}
		}
		d.Bundles = append(d.Bundles, b)
	}
	return moved
}

// detail describes the differing members of a bundle.
func (b *Bundle) detail(old, now *catalog.Bundle, names []string) {
	b.Image, names = explained(names, "image", old.Image, now.Image)
	if slices.Contains(names, "relatedImages") {
		if b.RelatedImages = relatedImages(old.RelatedImages, now.RelatedImages); len(b.RelatedImages) > 0 {
			names = without(names, "relatedImages")
		}
	}
	if slices.Contains(names, "properties") {
		b.Version = changed(version(old), version(now))
		if b.Properties = properties(old.Properties, now.Properties); len(b.Properties) > 0 {
			names = without(names, "properties")
		}
	}
	b.Members = names
}

// version returns a bundle's version with its release, or "" if it has none.
func version(b *catalog.Bundle) string {
	if b.VersionErr != nil {
		return ""
	}
	if b.Release != "" {
		return b.Version.String() + "-" + b.Release
	}
	return b.Version.String()
}

// relatedImages lists the images that only one side has, sorted.
func relatedImages(before, after []catalog.RelatedImage) []RelatedImage {
	count := map[catalog.RelatedImage]int{}
	for _, i := range before {
		count[i]--
	}
	for _, i := range after {
		count[i]++
	}
	var list []RelatedImage
	for image, n := range count {
		change := Added
		if n < 0 {
			change, n = Removed, -n
		}
		for range n {
			list = append(list, RelatedImage{Change: change, Name: image.Name, Image: image.Image})
		}
	}
	elements.Sort(list, func(a, b RelatedImage) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Image, b.Image), strings.Compare(string(a.Change), string(b.Change)))
	})
	return list
}

// properties lists the types whose values differ, sorted.
func properties(before, after []catalog.Property) []Property {
	count := map[string]map[string]int{} // by type, by canonical value
	add := func(list []catalog.Property, n int) {
		for _, p := range list {
			if count[p.Type] == nil {
				count[p.Type] = map[string]int{}
			}
			count[p.Type][string(canonical(p.Value))] += n
		}
	}
	add(before, -1)
	add(after, 1)

	var list []Property
	for _, typ := range slices.Sorted(maps.Keys(count)) {
		p := Property{Type: typ}
		for _, value := range slices.Sorted(maps.Keys(count[typ])) {
			n := count[typ][value]
			for ; n > 0; n-- {
				p.Added = append(p.Added, shown(value))
			}
			for ; n < 0; n++ {
				p.Removed = append(p.Removed, shown(value))
			}
		}
		if len(p.Added)+len(p.Removed) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// shown returns a value, or its size and digest if it is too long.
func shown(value string) string {
	if len(value) <= maxValue {
		return value
	}
	return fmt.Sprintf("%d bytes, sha256:%x", len(value), sha256.Sum256([]byte(value)))
}
