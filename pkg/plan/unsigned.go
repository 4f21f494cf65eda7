package plan

import (
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// Unsigned counts the images of the plan that are mirrored without a signature, among those that can have one: not
// those that Gantry builds, charts, files, and what belongs to other images. An image counts once, whatever its
// names in the mirror. It has a signature if the plan has a signature of it or of all the images of its index, an
// OpenPGP signature, or a signer. The images of a release are covered by the signatures of its payload. Whether
// signatures are valid is for a signature policy.
func (p *Plan) Unsigned() (unsigned, all int) {
	images, all := p.UnsignedImages()
	return len(images), all
}

// UnsignedImages returns the images that Unsigned counts, in the order of the plan.
func (p *Plan) UnsignedImages() (unsigned []*Image, all int) {
	contents, err := p.Contents()
	if err != nil {
		return nil, 0 // the plan was not checked
	}
	signed := map[place]bool{}
	for i := range p.Images {
		if img := &p.Images[i]; img.Signs() {
			signed[place{img.Repository, img.Subject}] = true
		}
	}
	type known struct {
		first *Image
		has   bool // a signature
	}
	var order []*known
	bySource := map[string]*known{} // and digest
	for i := range p.Images {
		img := &p.Images[i]
		if !p.canBeSigned(img) {
			continue
		}
		key := img.Source + " " + img.Digest.String()
		k := bySource[key]
		if k == nil {
			k = &known{first: img}
			bySource[key], order = k, append(order, k)
		}
		k.has = k.has || len(img.Signers)+len(img.Signatures) > 0 || p.releaseSigned(img) || isSigned(contents, signed, img)
	}
	for _, k := range order {
		if !k.has {
			unsigned = append(unsigned, k.first)
		}
	}
	return unsigned, len(order)
}

// The types of referrers that are signatures. Bundles of sigstore are attestations, too: PredicateType says which.
const (
	sigstoreBundle = "application/vnd.dev.sigstore.bundle" // and a version
	signPredicate  = "https://sigstore.dev/cosign/sign/v1"
	cosignArtifact = "application/vnd.dev.cosign.artifact.sig." // and a version
	notation       = "application/vnd.cncf.notary."             // "signature" or "v2.signature"
)

// Signs reports whether an image is a signature: of cosign at its tag, or a referrer that is a sigstore bundle with a
// signature, or an artifact of cosign or notation. Any referrer may be one in plans of earlier versions, which
// do not have its type.
func (img *Image) Signs() bool {
	switch t := img.ArtifactType; {
	case img.Kind != ReferrerImage:
		return img.Kind == SignatureImage
	case strings.HasPrefix(t, sigstoreBundle):
		return img.PredicateType == "" || img.PredicateType == signPredicate
	default:
		return t == "" || strings.HasPrefix(t, cosignArtifact) || strings.HasPrefix(t, notation) && strings.HasSuffix(t, "signature")
	}
}

// canBeSigned reports whether an image has a publisher who can have signed it.
func (p *Plan) canBeSigned(img *Image) bool {
	switch img.Kind {
	case GraphImage, ChartImage, FileImage:
		return false
	case CatalogImage:
		return !slices.ContainsFunc(p.Catalogs, func(c Catalog) bool { return c.Built && c.Name() == img.Catalog })
	}
	return !img.Kind.Belongs()
}

// releaseSigned reports whether an image is covered by the signatures of a release.
func (p *Plan) releaseSigned(img *Image) bool {
	return slices.ContainsFunc(img.Reasons, func(because Reason) bool {
		return because.Release != "" && slices.ContainsFunc(p.Releases, func(r Release) bool {
			return r.Name() == because.Release && len(r.Signatures) > 0
		})
	})
}

// isSigned reports whether an image, or every image of its index, is in signed.
func isSigned(contents *Contents, signed map[place]bool, img *Image) bool {
	has := func(d digest.Digest) bool { return signed[place{img.Repository, d}] }
	root, leaves := has(img.Digest) || img.RewrittenFrom != "" && has(img.RewrittenFrom), true
	err := contents.Walk(img.Digest, func(m *Manifest) error {
		leaves = leaves && (len(m.Manifests) > 0 || has(m.Digest))
		return nil
	}, func(Blob) error { return nil })
	return err == nil && (root || leaves)
}
