package deltamaker

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

const (
	// minBlob is the size of the smallest blob that deltas are made for, in bytes.
	minBlob = 16 << 10
	// maxOldImages is how many earlier images of a repository are compared with a new one.
	maxOldImages = 256
	// maxCandidates is how many bases are considered for a blob.
	maxCandidates = 6
)

// A Change is a blob that the site does not have, and blobs that it has and that may resemble it.
type Change struct {
	Blob   ocispec.Descriptor
	Source string // an image with the blob
	// Repository is where the mirror will have it, by the name in the plan.
	Repository string
	// Candidates are the bases to try, the most promising first.
	Candidates []Candidate
}

// A Candidate is a blob of the site.
type Candidate struct {
	archive.DeltaBase
	Source string // an image with the blob
}

// A Chooser finds what the new blobs of a plan may be based on.
type Chooser struct {
	Plan *plan.Plan
	// IsNew reports whether the archive contains a blob of the plan.
	IsNew func(digest.Digest) bool
	// Site is what the site has.
	Site *state.Receipt
	// Source reads manifests of images that the site has, from where they came from.
	Source image.Reader

	has map[digest.Digest]Candidate // blobs of the site
	old map[string][]oldImage       // by repository of the mirror
}

// An oldImage is an image manifest that the site has.
type oldImage struct {
	digest digest.Digest
	blobs  []ocispec.Descriptor // config and layers
}

// Changes returns the new blobs that may resemble something that the site has, in the order of the plan's
// images. Old images whose manifests can no longer be read are skipped.
func (c *Chooser) Changes(ctx context.Context) ([]Change, error) {
	contents, err := c.Plan.Contents()
	if err != nil {
		return nil, err
	}
	c.indexSite()
	c.old = map[string][]oldImage{}
	var all []Change
	seen := map[digest.Digest]bool{}
	for i := range c.Plan.Images {
		img := &c.Plan.Images[i]
		sizes := map[digest.Digest]int64{}
		var manifests []*plan.Manifest
		err := contents.Walk(img.Digest, func(m *plan.Manifest) error {
			manifests = append(manifests, m)
			return nil
		}, func(b plan.Blob) error {
			sizes[b.Digest] = b.Size
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, m := range manifests {
			for place, d := range m.Blobs {
				if seen[d] || sizes[d] < minBlob || !c.IsNew(d) {
					continue
				}
				seen[d] = true
				candidates, err := c.candidates(ctx, img, m, place, sizes)
				if err != nil {
					return nil, err
				}
				all = append(all, Change{Blob: ocispec.Descriptor{Digest: d, Size: sizes[d]}, Source: img.Source, Repository: img.Repository, Candidates: candidates})
			}
		}
	}
	return all, nil
}

// Lookup returns a blob of the site by its digest, after Changes was called.
func (c *Chooser) Lookup(d digest.Digest) (Candidate, bool) {
	base, ok := c.has[d]
	return base, ok
}

// indexSite finds the blobs of the site whose source is known: the repositories that the plan has, too.
func (c *Chooser) indexSite() {
	c.has = map[digest.Digest]Candidate{}
	sources := map[string]string{}
	for i := range c.Plan.Images {
		sources[c.Plan.Images[i].Repository] = c.Plan.Images[i].Source
	}
	for i := range c.Site.Repositories {
		r := &c.Site.Repositories[i]
		for _, b := range r.Blobs {
			if c.has[b.Digest].Source != "" {
				continue // repositories that the plan no longer has have no source
			}
			c.has[b.Digest] = Candidate{archive.DeltaBase{Digest: b.Digest, Size: b.Size, Repository: r.Name}, sources[r.Name]}
		}
	}
}

// candidates returns what the blob at a place of a manifest may be based on: the blobs at the same place of
// the most similar earlier images, then their other blobs of about the same size.
func (c *Chooser) candidates(ctx context.Context, img *plan.Image, m *plan.Manifest, place int, sizes map[digest.Digest]int64) ([]Candidate, error) {
	old, err := c.oldImages(ctx, img)
	if err != nil {
		return nil, err
	}
	ranked := slices.Clone(old)
	elements.Sort(ranked, func(a, b oldImage) int {
		return cmp.Compare(distance(m.Blobs, a.blobs, sizes), distance(m.Blobs, b.blobs, sizes))
	})
	var all []Candidate
	add := func(desc ocispec.Descriptor) {
		base, ok := c.has[desc.Digest]
		if !ok || base.Source == "" || base.Size < minBlob || len(all) == maxCandidates ||
			slices.ContainsFunc(all, func(o Candidate) bool { return o.Digest == desc.Digest }) {
			return
		}
		all = append(all, base)
	}
	ranked = ranked[:min(len(ranked), maxCandidates)]
	for _, o := range ranked {
		if place < len(o.blobs) && place > 0 {
			add(o.blobs[place])
		}
	}
	for _, o := range ranked {
		if at := len(o.blobs) - (len(m.Blobs) - place); at > 0 { // counted from the top layer
			add(o.blobs[at])
		}
	}
	for _, o := range ranked {
		rest := slices.DeleteFunc(slices.Clone(o.blobs), func(b ocispec.Descriptor) bool { return slices.Contains(m.Blobs, b.Digest) })
		size := sizes[m.Blobs[place]]
		elements.Sort(rest, func(a, b ocispec.Descriptor) int { return cmp.Compare(ratio(a.Size, size), ratio(b.Size, size)) })
		for _, b := range rest {
			add(b)
		}
	}
	return all, nil
}

// distance tells how different an old image is from a new one: by the sizes of the blobs at the same places, of
// those that are not the same.
func distance(blobs []digest.Digest, old []ocispec.Descriptor, sizes map[digest.Digest]int64) float64 {
	var total float64
	for i, d := range blobs {
		switch {
		case i >= len(old):
			total += float64(sizes[d])
		case old[i].Digest != d:
			total += float64(sizes[d]) * min(1, ratio(old[i].Size, sizes[d])-1)
		}
	}
	for _, o := range old[min(len(old), len(blobs)):] {
		total += float64(o.Size)
	}
	return total
}

// ratio returns how many times as large the larger of two sizes is.
func ratio(a, b int64) float64 {
	return float64(max(a, b, 1)) / float64(max(1, min(a, b)))
}

// oldImages returns the image manifests that the site has in the repository of an image.
func (c *Chooser) oldImages(ctx context.Context, img *plan.Image) ([]oldImage, error) {
	if known, ok := c.old[img.Repository]; ok {
		return known, nil
	}
	i, ok := slices.BinarySearchFunc(c.Site.Repositories, img.Repository, func(r state.Repository, name string) int { return strings.Compare(r.Name, name) })
	if !ok {
		c.old[img.Repository] = nil
		return nil, nil
	}
	var all []oldImage
	seen := map[digest.Digest]bool{}
	for _, old := range c.Site.Repositories[i].Images {
		var err error
		if all, err = c.addOld(ctx, all, seen, img.Source, old.Digest, true); err != nil {
			return nil, err
		}
	}
	c.old[img.Repository] = all
	return all, nil
}

// addOld adds a manifest, or the children of an index.
func (c *Chooser) addOld(ctx context.Context, all []oldImage, seen map[digest.Digest]bool, source string, d digest.Digest, children bool) ([]oldImage, error) {
	if len(all) >= maxOldImages || seen[d] {
		return all, nil
	}
	seen[d] = true
	desc, raw, err := c.Source.Manifest(ctx, source, d)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return all, nil //nolint:nilerr // it is gone from the source
	}
	var content struct {
		Config    *ocispec.Descriptor  `json:"config"`
		Layers    []ocispec.Descriptor `json:"layers"`
		Manifests []ocispec.Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(raw, &content); err != nil {
		return all, nil //nolint:nilerr // what is no manifest is no base
	}
	if manifest.IsIndex(desc.MediaType) {
		for _, child := range content.Manifests {
			if children {
				if all, err = c.addOld(ctx, all, seen, source, child.Digest, false); err != nil {
					return nil, err
				}
			}
		}
		return all, nil
	}
	if content.Config == nil {
		return all, nil
	}
	return append(all, oldImage{d, append([]ocispec.Descriptor{*content.Config}, content.Layers...)}), nil
}
