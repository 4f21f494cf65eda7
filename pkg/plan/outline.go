package plan

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// An Outline is the part of a plan that is compared, each list sorted: catalogs with their packages,
// channels and bundles, the images by name, releases, charts and files, and every manifest and blob by a
// hash of its digest. It is much smaller than the plan.
type Outline struct {
	catalogs []outlinedCatalog
	releases []outlinedImage
	charts   []outlinedImage
	files    []outlinedImage
	images   []outlinedImage
	content  []outlinedContent
}

type outlinedImage struct {
	name   string
	kind   ImageKind
	digest digest.Digest
	size   int64 // bytes
}

type outlinedContent struct {
	key  [sha256.Size]byte // hash of the digest, less than half as long
	size int64             // bytes
}

type outlinedCatalog struct {
	name     string
	digest   digest.Digest
	packages []outlinedPackage
}

type outlinedPackage struct {
	name     string
	channels []outlinedChannel
}

type outlinedChannel struct {
	name, head string
	bundles    []outlinedBundle
}

type outlinedBundle struct {
	name   string
	digest digest.Digest // of its image, "" if the plan has none
}

// Outline returns the outline of the plan. The plan need not be kept.
func (p *Plan) Outline() *Outline {
	p = p.WithDigestTags()
	o := &Outline{content: make([]outlinedContent, 0, len(p.Manifests)+len(p.Blobs))}
	sizes, bundles := map[digest.Digest]int64{}, map[[2]string]digest.Digest{}
	for i := range p.Images {
		img := &p.Images[i]
		for _, name := range img.Names() {
			o.images = append(o.images, outlinedImage{name, img.Kind, img.Digest, img.Size})
		}
		switch img.Kind {
		case ReleaseImage, ChartImage, FileImage:
			sizes[img.Digest] = img.Size
		case BundleImage:
			for _, r := range img.Reasons {
				if r.Bundle != "" && r.Name == "" {
					bundles[[2]string{r.Catalog, r.Bundle}] = img.Digest
				}
			}
		}
	}
	for i := range p.Releases {
		r := &p.Releases[i]
		o.releases = append(o.releases, outlinedImage{r.Name(), ReleaseImage, r.Digest, sizes[r.Digest]})
	}
	for _, c := range p.Charts {
		o.charts = append(o.charts, outlinedImage{c.String(), ChartImage, c.Digest, sizes[c.Digest]})
	}
	for i := range p.Files {
		f := &p.Files[i]
		o.files = append(o.files, outlinedImage{f.Name, FileImage, f.Digest, f.Size})
	}
	for i := range p.Catalogs {
		o.catalogs = append(o.catalogs, outlineCatalog(&p.Catalogs[i], bundles))
	}
	for i := range p.Manifests {
		o.content = append(o.content, outlinedContent{sha256.Sum256([]byte(p.Manifests[i].Digest)), p.Manifests[i].Size})
	}
	for _, b := range p.Blobs {
		o.content = append(o.content, outlinedContent{sha256.Sum256([]byte(b.Digest)), b.Size})
	}
	o.sort()
	return o
}

func outlineCatalog(c *Catalog, bundles map[[2]string]digest.Digest) outlinedCatalog {
	out := outlinedCatalog{name: c.Name(), digest: c.Digest}
	for _, p := range c.Packages {
		pkg := outlinedPackage{name: p.Name}
		for _, ch := range p.Channels {
			channel := outlinedChannel{name: ch.Name, head: ch.Head}
			for _, b := range ch.Bundles {
				channel.bundles = append(channel.bundles, outlinedBundle{b.Name, bundles[[2]string{out.name, b.Name}]})
			}
			elements.Sort(channel.bundles, func(x, y outlinedBundle) int { return strings.Compare(x.name, y.name) })
			pkg.channels = append(pkg.channels, channel)
		}
		elements.Sort(pkg.channels, func(x, y outlinedChannel) int { return strings.Compare(x.name, y.name) })
		out.packages = append(out.packages, pkg)
	}
	elements.Sort(out.packages, func(x, y outlinedPackage) int { return strings.Compare(x.name, y.name) })
	return out
}

// sort sorts the lists, and removes entries that are there twice.
func (o *Outline) sort() {
	for _, list := range []*[]outlinedImage{&o.releases, &o.charts, &o.files, &o.images} {
		elements.Sort(*list, func(x, y outlinedImage) int { return strings.Compare(x.name, y.name) })
		*list = slices.CompactFunc(*list, func(x, y outlinedImage) bool { return x.name == y.name })
	}
	elements.Sort(o.catalogs, func(x, y outlinedCatalog) int { return strings.Compare(x.name, y.name) })
	o.catalogs = slices.CompactFunc(o.catalogs, func(x, y outlinedCatalog) bool { return x.name == y.name })
	elements.Sort(o.content, func(x, y outlinedContent) int {
		return cmp.Or(bytes.Compare(x.key[:], y.key[:]), cmp.Compare(x.size, y.size))
	})
	o.content = slices.CompactFunc(o.content, func(x, y outlinedContent) bool { return x.key == y.key })
}

// A MirroredVersion is a bundle of a package, or a platform release, whose Package is "".
type MirroredVersion struct{ Package, Name string }

// Versions returns the bundles and releases of the plan, sorted, each once whatever catalogs and channels have it.
func (o *Outline) Versions() (all []MirroredVersion) {
	for _, c := range o.catalogs {
		for _, p := range c.packages {
			for _, ch := range p.channels {
				for _, b := range ch.bundles {
					all = append(all, MirroredVersion{p.name, b.name})
				}
			}
		}
	}
	for _, r := range o.releases {
		all = append(all, MirroredVersion{Name: r.name})
	}
	elements.Sort(all, func(x, y MirroredVersion) int {
		return cmp.Or(strings.Compare(x.Package, y.Package), strings.Compare(x.Name, y.Name))
	})
	return slices.Compact(all)
}

// JoinOutlines returns the outline of several plans together, such as those of all image sets of a mirror.
// Where two plans have the same name for different content, the first one applies.
func JoinOutlines(all ...*Outline) *Outline {
	joined := &Outline{}
	for _, o := range all {
		joined.catalogs = append(joined.catalogs, o.catalogs...)
		joined.releases = append(joined.releases, o.releases...)
		joined.charts = append(joined.charts, o.charts...)
		joined.files = append(joined.files, o.files...)
		joined.images = append(joined.images, o.images...)
		joined.content = append(joined.content, o.content...)
	}
	joined.sort()
	return joined
}
