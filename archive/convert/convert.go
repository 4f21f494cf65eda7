// Package convert makes the plan of what archives of oc mirror contain, so that they become archives that
// Gantry reads.
//
// Such an archive has no plan. Its repositories and tags are those of the mirror; what images were mirrored
// for, and where they came from, is found in the configuration, the catalogs and the releases that travel in
// it. Images that none of them names become additional images.
package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive/ocarchive"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// unknownRegistry is the registry of sources that neither the configuration nor a catalog nor a release
// names. No registry can have this name (RFC 2606).
const unknownRegistry = "unknown.invalid"

// A Conversion is the plan of archives of oc mirror, and what it does not have.
type Conversion struct {
	// Plan has the images that are complete, under the names that oc mirror gives them in a mirror. Its notes are
	// what the archives do not tell.
	Plan *plan.Plan
	// Earlier is how many names of images are in the archives of which they have nothing: earlier ones do.
	Earlier int
	// Incomplete are images of which some content is missing.
	Incomplete []Incomplete

	from      *ocarchive.Archive
	known     *names
	manifests map[digest.Digest]*plan.Manifest
	blobs     map[digest.Digest]int64
	missing   map[digest.Digest]digest.Digest // by manifest: what of it is missing, "" if nothing
}

// An Incomplete is an image whose content is partly in earlier archives.
type Incomplete struct {
	Name    string        `json:"name"` // in the mirror
	Digest  digest.Digest `json:"digest"`
	Missing digest.Digest `json:"missing"` // the first manifest or blob that is missing
}

// New makes the plan. name is its name.
func New(from *ocarchive.Archive, name string) (*Conversion, error) {
	c := &Conversion{
		from: from, Plan: &plan.Plan{Kind: plan.Kind, Version: plan.Version, Name: name},
		manifests: map[digest.Digest]*plan.Manifest{}, blobs: map[digest.Digest]int64{}, missing: map[digest.Digest]digest.Digest{},
	}
	config, err := c.configuration()
	if err != nil {
		return nil, err
	}
	tags, err := from.Tags()
	if err != nil {
		return nil, advice.New(advice.Mismatch, "copy the files again from where oc mirror wrote them", "%w", err)
	}
	if c.known, err = namesOf(from, config, tags); err != nil {
		return nil, err
	}
	for _, t := range tags {
		if err := c.add(t); err != nil {
			return nil, fmt.Errorf("reading %s:%s of the archive of oc mirror: %w", t.Repository, t.Tag, err)
		}
	}
	c.finish()
	return c, c.Plan.Check()
}

// configuration returns the configuration in the archive, or an empty one.
func (c *Conversion) configuration() (*imageset.Config, error) {
	path, text, err := c.from.Configuration()
	if errors.Is(err, fs.ErrNotExist) {
		c.note("the archive has no configuration, so that its catalogs are images like others: the last of its volumes may be missing")
		return &imageset.Config{}, nil
	}
	if err != nil {
		return nil, err
	}
	config, err := imageset.Parse(path, text)
	if _, ok := errors.AsType[*imageset.Error](err); ok {
		c.note(fmt.Sprintf("the configuration %s in the archive cannot be read, so that its catalogs are images like others: %v", path, err))
		return &imageset.Config{}, nil
	}
	return config, err
}

func (c *Conversion) note(text string) {
	c.Plan.Notes = append(c.Plan.Notes, plan.CleanMessage(text))
}

// add adds the image of a tag, if it is one that oc mirror pushes to a mirror.
func (c *Conversion) add(t ocarchive.Tag) error {
	img, ok := c.known.image(t)
	if !ok {
		return nil
	}
	missing, err := c.collect(t.Repository, img.Digest)
	switch {
	case err != nil:
		return err
	case missing == img.Digest:
		c.Earlier++
		return nil
	case missing != "":
		c.Incomplete = append(c.Incomplete, Incomplete{Name: img.Repository + ":" + img.Tags[0], Digest: img.Digest, Missing: missing})
		return nil
	}
	c.Plan.Images = append(c.Plan.Images, img)
	return nil
}

// collect reads a manifest with its children, and returns what of it no folder has, or "".
func (c *Conversion) collect(repository string, d digest.Digest) (missing digest.Digest, err error) {
	if missing, ok := c.missing[d]; ok {
		return missing, nil
	}
	defer func() { c.missing[d] = missing }()
	raw, err := c.from.Manifest(d, manifest.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return "", advice.New(advice.Mismatch, "copy the files again from where oc mirror wrote them", "%w", err)
	}
	var content struct {
		Manifests []ocispec.Descriptor `json:"manifests"`
		Config    *ocispec.Descriptor  `json:"config"`
		Layers    []ocispec.Descriptor `json:"layers"`
	}
	m := &plan.Manifest{Digest: d, MediaType: manifest.TypeOf(raw), Size: int64(len(raw))}
	if err := json.Unmarshal(raw, &content); err != nil || !manifest.Is(m.MediaType) {
		return "", fmt.Errorf("manifest %s has the media type %q and cannot be mirrored", d, m.MediaType)
	}
	for _, child := range content.Manifests {
		if _, ok := c.from.Size(child.Digest); !ok && !c.from.HadRevision(repository, child.Digest) {
			m.Sparse = true // its platform was never mirrored
			continue
		}
		if missing, err := c.collect(repository, child.Digest); missing != "" || err != nil {
			return missing, err
		}
		m.Manifests = append(m.Manifests, child.Digest)
	}
	if content.Config != nil {
		content.Layers = append(content.Layers, *content.Config)
	}
	for _, b := range content.Layers {
		if size, ok := c.from.Size(b.Digest); !ok || size != b.Size {
			return b.Digest, nil
		}
		m.Blobs = append(m.Blobs, b.Digest)
	}
	slices.Sort(m.Manifests)
	slices.Sort(m.Blobs)
	m.Manifests, m.Blobs = slices.Compact(m.Manifests), slices.Compact(m.Blobs)
	for _, b := range content.Layers {
		c.blobs[b.Digest] = b.Size
	}
	c.manifests[d] = m
	return "", nil
}

// finish completes the plan: it has exactly the content of its images.
func (c *Conversion) finish() {
	p := c.Plan
	wanted, blobs := map[digest.Digest]bool{}, map[digest.Digest]bool{}
	var size func(d digest.Digest, seen map[digest.Digest]bool) int64
	size = func(d digest.Digest, seen map[digest.Digest]bool) (n int64) {
		if seen[d] {
			return 0
		}
		seen[d], wanted[d] = true, true
		m := c.manifests[d]
		for _, b := range m.Blobs {
			if !seen[b] {
				seen[b], blobs[b] = true, true
				n += c.blobs[b]
			}
		}
		for _, child := range m.Manifests {
			n += size(child, seen)
		}
		return n + m.Size
	}
	p.Images = c.withSubjects(p.Images)
	for i := range p.Images {
		p.Images[i].Size = size(p.Images[i].Digest, map[digest.Digest]bool{})
	}
	p.Manifests, p.Blobs = []plan.Manifest{}, []plan.Blob{}
	for d := range wanted {
		p.Manifests = append(p.Manifests, *c.manifests[d])
	}
	for d := range blobs {
		p.Blobs = append(p.Blobs, plan.Blob{Digest: d, Size: c.blobs[d]})
	}
	elements.Sort(p.Manifests, func(a, b plan.Manifest) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	elements.Sort(p.Blobs, func(a, b plan.Blob) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	elements.Sort(p.Images, plan.CompareImages)
	c.known.addTo(p)
	if n := c.known.unknownIn(p); n > 0 {
		c.note(fmt.Sprintf("the registries that %d images came from are not in the archive, so that the mirror sets name the registry "+unknownRegistry+": request them by their names in the mirror", n))
	}
	slices.Sort(p.Notes)
	p.Totals = p.Count()
}

// withSubjects keeps the subject of signatures and the like only if that is in the plan too.
func (c *Conversion) withSubjects(images []plan.Image) []plan.Image {
	for i := range images {
		if img := &images[i]; img.Subject != "" && c.manifests[img.Subject] == nil {
			img.Kind, img.Subject = plan.AdditionalImage, ""
		}
	}
	return images
}
