package plan

import (
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/manifest"
)

// Rewritten returns the digests of smaller indexes, by the index of the source that each was made from.
func (p *Plan) Rewritten() map[digest.Digest]digest.Digest {
	all := map[digest.Digest]digest.Digest{}
	for i := range p.Images {
		if img := &p.Images[i]; img.RewrittenFrom != "" {
			all[img.RewrittenFrom] = img.Digest
		}
	}
	return all
}

// checkRewritten returns an error unless the fields for smaller indexes fit the image.
func (img *Image) checkRewritten() error {
	if err := checkText("the reason why it was not rewritten", img.NotRewritten); err != nil || img.RewrittenFrom == "" {
		return err
	}
	switch {
	case img.Kind != BundleImage && img.Kind != RelatedImage && img.Kind != AdditionalImage:
		return fmt.Errorf("it is of kind %s and has a smaller index", quoted(img.Kind))
	case img.RewrittenFrom == img.Digest || img.NotRewritten != "":
		return errors.New("it was rewritten and keeps its digest")
	}
	return checkDigest("the digest that it was rewritten from", img.RewrittenFrom)
}

// checkRewritten returns an error unless every smaller index is a complete index, and the only one of
// its original.
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
		case m == nil || !manifest.IsIndex(m.MediaType) || m.Sparse || len(m.Manifests) == 0:
			return fmt.Errorf("image %s: %s is not a complete index", img.Source, img.Digest)
		}
	}
	return nil
}
