package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// Rewritten returns the digests of smaller indexes and converted images, by the digest at the source that
// each was made from.
func (p *Plan) Rewritten() map[digest.Digest]digest.Digest {
	all := map[digest.Digest]digest.Digest{}
	for i := range p.Images {
		if img := &p.Images[i]; img.RewrittenFrom != "" {
			all[img.RewrittenFrom] = img.Digest
		}
	}
	return all
}

// checkRewritten returns an error unless the fields for smaller indexes and converted images fit the image.
func (img *Image) checkRewritten() error {
	if err := checkTexts("the reason why it was not rewritten", img.NotRewritten, "what names its digest", img.NamedBy); err != nil {
		return err
	}
	switch {
	case img.RewrittenFrom == "" && img.NamedBy != "":
		return errors.New("it keeps its digest and is not found by it")
	case img.RewrittenFrom == "":
		return nil
	case !slices.Contains([]ImageKind{BundleImage, RelatedImage, AdditionalImage, CatalogImage}, img.Kind):
		return fmt.Errorf("it is of kind %s and was rewritten", quoted(img.Kind))
	case img.RewrittenFrom == img.Digest || img.NotRewritten != "":
		return errors.New("it was rewritten and keeps its digest")
	}
	return checkDigest("the digest that it was rewritten from", img.RewrittenFrom)
}

// checkRewritten returns an error unless every smaller index is a complete index, and the only one of
// its original. A plan with a format may rewrite any image, and refuses media types of the other format.
func (p *Plan) checkRewritten(c *Contents) error {
	rewritten := p.Rewritten()
	for i := range p.Images {
		img := &p.Images[i]
		if img.RewrittenFrom == "" {
			continue
		}
		m := c.manifest(img.Digest)
		switch {
		case rewritten[img.RewrittenFrom] != img.Digest:
			return fmt.Errorf("%s was rewritten in two ways", img.RewrittenFrom)
		case m == nil || m.Sparse || manifest.IsIndex(m.MediaType) && len(m.Manifests) == 0:
			return fmt.Errorf("image %s: %s is not a complete index", img.Source, img.Digest)
		case p.Format == "" && (img.Kind == CatalogImage || !manifest.IsIndex(m.MediaType)):
			return fmt.Errorf("image %s: %s is not a complete index", img.Source, img.Digest)
		}
	}
	for _, m := range p.Manifests {
		if p.Format != "" && p.Format.Refuses(m.MediaType) {
			return fmt.Errorf("manifest %s has the type %s, which is not one of the plan's format, %s", m.Digest, quoted(m.MediaType), p.Format)
		}
	}
	return nil
}

// checkFormat returns an error unless the format of the plan is "" or one of manifest.Formats.
func (p *Plan) checkFormat() error {
	if p.Format != "" && !slices.Contains(manifest.Formats(), string(p.Format)) {
		return fmt.Errorf("its format %s is unknown", quoted(p.Format))
	}
	return nil
}
