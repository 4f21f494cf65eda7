package build

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// rewriteBundles replaces the digests of bundle images that got smaller indexes, in all catalogs.
func (s catalogSelection) rewriteBundles(digests map[digest.Digest]digest.Digest) error {
	for _, r := range s.all {
		if err := r.rewriteBundles(digests); err != nil {
			return err
		}
	}
	return nil
}

// rewriteBundles replaces the digests of bundle images in image and relatedImages of each bundle.
// Every other byte of the catalog stays.
func (r *selectedCatalog) rewriteBundles(digests map[digest.Digest]digest.Digest) error {
	var result *catalog.Catalog
	for i, p := range r.result.Catalog.Packages {
		var changed *catalog.Package
		for j, b := range p.Bundles {
			ref, err := reference.Parse(b.Image)
			if err != nil || ref.Digest == "" || digests[ref.Digest] == "" {
				continue
			}
			if changed == nil {
				pkg := *p
				changed, pkg.Bundles = &pkg, slices.Clone(p.Bundles)
			}
			if changed.Bundles[j], err = withDigest(b, ref.Digest, digests[ref.Digest]); err != nil {
				return fmt.Errorf("catalog %s: %w", r.entry.Name(), err)
			}
		}
		if changed == nil {
			continue
		}
		if result == nil {
			c := *r.result.Catalog
			result, c.Packages = &c, slices.Clone(c.Packages)
		}
		result.Packages[i] = changed
	}
	if result != nil {
		all := *r.result
		all.Catalog, all.Unchanged = result, false
		r.result = &all
	}
	return nil
}

// withDigest returns a bundle whose image has another digest.
func withDigest(b *catalog.Bundle, before, after digest.Digest) (*catalog.Bundle, error) {
	text, err := b.Meta.Text()
	if err != nil {
		return nil, err
	}
	var fields struct {
		Image         json.RawMessage `json:"image"`
		RelatedImages json.RawMessage `json:"relatedImages"`
	}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
	}
	replace := func(v json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(v, []byte(before), []byte(after))
	}
	meta := *b.Meta
	meta.Raw, meta.Packed = text, nil
	changed, err := meta.With("image", replace(fields.Image))
	if err == nil && fields.RelatedImages != nil {
		changed, err = changed.With("relatedImages", replace(fields.RelatedImages))
	}
	if err != nil {
		return nil, err
	}
	c, err := catalog.New([]*catalog.Meta{changed})
	if err != nil {
		return nil, err
	}
	made := c.Packages[0].Bundles[0]
	names := func(image string) bool {
		ref, err := reference.Parse(image)
		return err == nil && ref.Digest == before
	}
	if names(made.Image) || slices.ContainsFunc(made.RelatedImages, func(r catalog.RelatedImage) bool { return names(r.Image) }) {
		return nil, fmt.Errorf("bundle %s: the digest of its image cannot be replaced", b.Name)
	}
	return made, nil
}
