// Package sbom writes what a plan mirrors as a bill of materials: CycloneDX 1.6 or SPDX 2.3, as JSON.
//
// A plan becomes parts and the relations between them: catalogs contain packages, these contain bundles, and bundles
// depend on images; releases and charts depend on images, too. Images have their digest and a package URL
// (pkg:oci/...). Bills of materials, attestations and signatures that the plan mirrors are referenced by the image that they
// belong to: what is in an image is in these, and not in the plan.
//
// The same plan gives the same bytes: lists are sorted, identifiers are made of names and digests, and the time is
// the one of the options.
package sbom

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A kind is what a part is.
type kind string

const (
	planKind    kind = "plan"
	catalogKind kind = "catalog"
	packageKind kind = "package"
	bundleKind  kind = "bundle"
	releaseKind kind = "release"
	chartKind   kind = "chart"
	fileKind    kind = "file"
	imageKind   kind = "image"
)

// A part is one component.
type part struct {
	id            string // letters, digits, dots and dashes
	kind          kind
	name, version string
	purl          string        // "" if it has none
	sum           digest.Digest // SHA-256 of its manifest or its bytes, or ""
	properties    []property
	advisory      string // the address of the erratum, or ""
	attached      []attachment
	needs         []string // IDs, sorted
}

// A property is a fact for which the formats have no field.
type property struct{ name, value string }

// An attachment belongs to an image.
type attachment struct {
	kind plan.ImageKind
	part *part
}

// A builder collects the parts of a plan.
type builder struct {
	plan  *plan.Plan
	parts map[string]*part
}

// parts returns the parts of a plan: first the plan itself, then the others by ID.
func parts(p *plan.Plan) ([]*part, error) {
	sum, err := p.Digest()
	if err != nil {
		return nil, err
	}
	b := &builder{plan: p, parts: map[string]*part{}}
	root := &part{id: "plan", kind: planKind, name: p.Name, version: sum.String(), sum: sum}
	for _, m := range p.Missing {
		root.properties = append(root.properties, property{"gantry:missing", m.Source})
	}
	b.addCatalogs(root)
	b.addReleases(root)
	for _, c := range p.Charts {
		root.need(b.add(chartKind, []string{c.String()}, part{name: c.Name, version: c.Version, properties: []property{{"gantry:origin", c.Origin}}}))
	}
	for _, f := range p.Files {
		root.need(b.add(fileKind, []string{f.Name}, part{name: f.Name, sum: f.SHA256, properties: []property{{"gantry:origin", f.Origin}}}))
	}
	if err := b.addImages(root); err != nil {
		return nil, err
	}
	all := []*part{root}
	for _, one := range b.parts {
		all = append(all, one)
	}
	elements.Sort(all[1:], func(a, b *part) int { return strings.Compare(a.id, b.id) })
	for _, one := range all {
		slices.Sort(one.needs)
		one.needs = slices.Compact(one.needs)
		elements.Sort(one.attached, func(a, b attachment) int {
			return cmp.Or(strings.Compare(a.part.id, b.part.id), strings.Compare(string(a.kind), string(b.kind)))
		})
	}
	return all, nil
}

func (p *part) need(other *part) {
	if other != nil && other.id != p.id {
		p.needs = append(p.needs, other.id)
	}
}

func partID(k kind, keys []string) string {
	sum := sha256.Sum256([]byte(strings.Join(keys, "\x00")))
	return string(k) + "-" + hex.EncodeToString(sum[:16])
}

// add adds a part that the keys identify, or returns it if it exists.
func (b *builder) add(k kind, keys []string, of part) *part {
	of.kind, of.id = k, partID(k, keys)
	if have := b.parts[of.id]; have != nil {
		return have
	}
	b.parts[of.id] = &of
	return &of
}

// get returns a part that was added, or nil.
func (b *builder) get(k kind, keys ...string) *part {
	return b.parts[partID(k, keys)]
}

func (b *builder) addCatalogs(root *part) {
	for _, c := range b.plan.Catalogs {
		catalog := b.add(catalogKind, []string{c.Name()}, part{name: c.Name(), version: c.Tag, properties: []property{{"gantry:source", c.Source}}})
		if c.SourceDigest != "" {
			catalog.properties = append(catalog.properties, property{"gantry:sourceDigest", c.SourceDigest.String()})
		}
		root.need(catalog)
		for _, p := range c.Packages {
			pkg := b.add(packageKind, []string{c.Name(), p.Name}, part{name: p.Name})
			catalog.need(pkg)
			for _, ch := range p.Channels {
				for _, one := range ch.Bundles {
					pkg.need(b.add(bundleKind, []string{c.Name(), p.Name, one.Name}, part{name: one.Name, version: one.Version, properties: []property{{"gantry:package", p.Name}}}))
				}
			}
		}
	}
}

func (b *builder) addReleases(root *part) {
	for _, r := range b.plan.Releases {
		name := string(r.Product)
		root.need(b.add(releaseKind, []string{r.Name()}, part{
			name: name, version: r.Version, sum: r.Digest, advisory: r.URL, properties: []property{{"gantry:architecture", string(r.Arch)}},
		}))
	}
}

// addImages adds the images, with what needs them and what belongs to them.
func (b *builder) addImages(root *part) error {
	images := make([]*part, len(b.plan.Images))
	attachments := false
	for i := range b.plan.Images {
		img := &b.plan.Images[i]
		images[i] = b.add(imageKind, []string{img.Source, img.Repository, img.Digest.String()}, imagePart(img))
		if img.Kind.Belongs() {
			attachments = true
			continue
		}
		b.addReasons(root, images[i], img)
	}
	if !attachments {
		return nil
	}
	subjects, err := b.subjects(images)
	if err != nil {
		return err
	}
	for i := range b.plan.Images {
		img := &b.plan.Images[i]
		if !img.Kind.Belongs() {
			continue
		}
		subject := subjects[img.Repository+"@"+img.Subject.String()]
		if subject == nil || subject.id == images[i].id {
			root.need(images[i])
			continue
		}
		subject.attached = append(subject.attached, attachment{img.Kind, images[i]})
	}
	return nil
}

// addReasons makes what an image is mirrored for need it.
func (b *builder) addReasons(root, one *part, img *plan.Image) {
	found := false
	for _, r := range img.Reasons {
		var who *part
		switch {
		case r.Bundle != "":
			who = b.get(bundleKind, r.Catalog, r.Package, r.Bundle)
		case r.Release != "":
			who = b.get(releaseKind, r.Release)
		case r.Chart != "":
			who = b.get(chartKind, r.Chart)
		case img.Kind == plan.CatalogImage:
			who = b.get(catalogKind, img.Catalog)
		}
		if who != nil {
			who.need(one)
			found = true
		}
	}
	for _, c := range b.plan.Charts {
		if img.Kind == plan.ChartImage && c.Source == img.Source && c.Repository == img.Repository {
			b.get(chartKind, c.String()).need(one)
			found = true
		}
	}
	for _, f := range b.plan.Files {
		if img.Kind == plan.FileImage && f.Source == img.Source && f.Repository == img.Repository {
			b.get(fileKind, f.Name).need(one)
			found = true
		}
	}
	if !found {
		root.need(one)
	}
}

// subjects returns the images that contain a manifest, by repository and digest.
func (b *builder) subjects(images []*part) (map[string]*part, error) {
	contents, err := b.plan.Contents()
	if err != nil {
		return nil, err
	}
	found := map[string]*part{}
	for i := range b.plan.Images {
		img := &b.plan.Images[i]
		err := contents.Walk(img.Digest, func(m *plan.Manifest) error {
			key := img.Repository + "@" + m.Digest.String()
			if found[key] == nil || m.Digest == img.Digest {
				found[key] = images[i]
			}
			return nil
		}, func(plan.Blob) error { return nil })
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// imagePart returns the part of an image.
func imagePart(img *plan.Image) part {
	p := part{name: path.Base(img.Repository), version: img.Digest.String(), purl: imageURL(img), sum: img.Digest}
	p.properties = []property{{"gantry:kind", string(img.Kind)}, {"gantry:source", img.Source}}
	for _, name := range img.Names() {
		p.properties = append(p.properties, property{"gantry:mirror", name})
	}
	if img.RewrittenFrom != "" {
		p.properties = append(p.properties, property{"gantry:rewrittenFrom", img.RewrittenFrom.String()})
	}
	for _, s := range img.Signers {
		p.properties = append(p.properties, property{"gantry:signer", s.Type + " " + s.Name})
	}
	return p
}

// imageURL returns the package URL of an image, as the type oci defines it: the name is the last part of the repository,
// the version the digest, and the qualifiers are the repository at the source and the tag there. What is not from a
// registry has no repository.
func imageURL(img *plan.Image) string {
	name, tag := img.Repository, ""
	var qualifiers []string
	if ref, err := reference.Parse(img.Source); err == nil && !strings.Contains(img.Source, "://") {
		name, tag = ref.Name(), ref.Tag
		qualifiers = append(qualifiers, "repository_url="+escaped(strings.ToLower(name)))
	}
	if tag != "" {
		qualifiers = append(qualifiers, "tag="+escaped(tag))
	}
	text := "pkg:oci/" + escaped(strings.ToLower(path.Base(name))) + "@" + escaped(img.Digest.String())
	if len(qualifiers) > 0 {
		text += "?" + strings.Join(qualifiers, "&")
	}
	return text
}

// escaped returns a text with everything percent-encoded but letters, digits, ".-_~" and slashes.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(".-_~/", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return b.String()
}
