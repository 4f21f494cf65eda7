// Package stored finds the signatures of images where they are stored: beside the image in its
// repository, or below an address that registries.d names.
//
// Signatures of cosign are an image at the tag sha256-<hex>.sig. Sigstore bundles are artifacts that
// refer to the image. OpenPGP signatures are files, BASE/PATH@sha256=<hex>/signature-1 and so on, or came
// with the image in a plan. The package finds and reads them, limited in size and number; whether they are
// valid is decided by package policy.
package stored

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/pkg/signature/policy"
	"github.com/gantry-mirror/gantry/pkg/signature/registriesd"
)

const (
	// maxBundles is how many bundles of an image are read.
	maxBundles = 64
	// maxSimple is how many OpenPGP signatures of an image are read, as in containers/image.
	maxSimple = 128
)

// A Finder finds signatures. It implements policy.Finder and is safe for concurrent use.
type Finder struct {
	// Images reads signatures that are stored beside images.
	Images image.Reader
	// Source returns how Images calls the repository of an image. Nil is its own name.
	Source func(img policy.Image) string
	// Tag returns the digest of the image at a tag of a repository that Images cannot look up by name.
	// Nil leaves it to Images. If there is none, the error matches fs.ErrNotExist.
	Tag func(img policy.Image, tag string) (digest.Digest, error)
	// Referrers returns the descriptors of what refers to an image. Nil finds none.
	Referrers func(ctx context.Context, img policy.Image) ([]ocispec.Descriptor, error)
	// Carried returns the OpenPGP signatures that came with an image. If it reports false, none of the image
	// or its index did, and they are looked for below Registries and Lookaside. Nil reports false.
	Carried func(img policy.Image) (bodies [][]byte, ok bool)
	// Registries is registries.d; nil names no place.
	Registries *registriesd.Config
	// Lookaside is the base of OpenPGP signatures if registries.d has none; "" is none.
	Lookaside string
	// Get reads OpenPGP signatures from web servers.
	Get gpg.Getter
}

func (f *Finder) source(img policy.Image) string {
	if f.Source != nil {
		return f.Source(img)
	}
	return img.Reference.Name()
}

// Sigstore implements policy.Finder. Signatures that cannot be understood are problems of the result.
func (f *Finder) Sigstore(ctx context.Context, img policy.Image) (*policy.Attached, error) {
	found := &policy.Attached{}
	if img.Layout != "" {
		return found, nil
	}
	if use, set := f.Registries.Attachments(img.Reference); set && !use {
		return found, nil
	}
	if err := f.tagged(ctx, img, found); err != nil {
		return nil, err
	}
	if f.Referrers == nil {
		return found, nil
	}
	return found, f.bundles(ctx, img, found)
}

// tagged adds the signatures at the tag of an image.
func (f *Finder) tagged(ctx context.Context, img policy.Image, found *policy.Attached) error {
	source, at := f.source(img), digest.Digest("")
	tag := cosign.Tag(img.Digest)
	if f.Tag != nil {
		var err error
		if at, err = f.Tag(img, tag); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
	}
	_, raw, err := f.Images.Manifest(ctx, source+":"+tag, at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	all, err := cosign.Parse(raw)
	if err != nil {
		found.Problems = append(found.Problems, err)
		return nil
	}
	for _, s := range all {
		payload, err := f.blob(ctx, source, s.Payload, cosign.MaxPayload)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			found.Problems = append(found.Problems, fmt.Errorf("its payload is missing: %w", err))
		case err != nil:
			return err
		default:
			found.Signatures = append(found.Signatures, policy.Attachment{Signature: s, Payload: payload})
		}
	}
	return nil
}

// bundles adds the sigstore bundles that refer to an image.
func (f *Finder) bundles(ctx context.Context, img policy.Image, found *policy.Attached) error {
	list, err := f.Referrers(ctx, img)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case len(found.Signatures) > 0 && ctx.Err() == nil: // one of them may be enough
		found.Problems = append(found.Problems, fmt.Errorf("listing what refers to it: %w", err))
		return nil
	default:
		return err
	}
	source := f.source(img)
	for _, d := range list {
		if !strings.HasPrefix(d.ArtifactType, cosign.BundleType) {
			continue
		}
		if len(found.Bundles) == maxBundles {
			found.Problems = append(found.Problems, fmt.Errorf("only the first %d bundles were read", maxBundles))
			break
		}
		text, err := f.bundle(ctx, source, d.Digest)
		var unusable *unusableError
		switch {
		case errors.As(err, &unusable), errors.Is(err, fs.ErrNotExist):
			found.Problems = append(found.Problems, fmt.Errorf("the bundle %s: %w", d.Digest, err))
		case err != nil:
			return err
		default:
			found.Bundles = append(found.Bundles, text)
		}
	}
	if len(found.Bundles) > 0 {
		_, found.Manifest, err = f.Images.Manifest(ctx, source, img.Digest)
		return err
	}
	return nil
}

// An unusableError means that an artifact is not what it should be.
type unusableError struct{ why string }

func (e *unusableError) Error() string { return e.why }

// bundle reads the text of one bundle.
func (f *Finder) bundle(ctx context.Context, source string, d digest.Digest) ([]byte, error) {
	_, raw, err := f.Images.Manifest(ctx, source, d)
	if err != nil {
		return nil, err
	}
	layers, err := cosign.Layers(raw)
	if err != nil || len(layers) != 1 {
		return nil, &unusableError{"it is not an image manifest with one layer"}
	}
	if layers[0].Size < 0 || layers[0].Size > cosign.MaxBundle {
		return nil, &unusableError{fmt.Sprintf("it has %d bytes; a bundle has at most %d", layers[0].Size, cosign.MaxBundle)}
	}
	return f.blob(ctx, source, layers[0], cosign.MaxBundle)
}

// blob reads a blob of limited size.
func (f *Finder) blob(ctx context.Context, source string, desc ocispec.Descriptor, limit int64) ([]byte, error) {
	r, err := f.Images.Blob(ctx, source, desc, 0)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	return text, errors.Join(err, r.Close())
}

// Simple implements policy.Finder.
func (f *Finder) Simple(ctx context.Context, img policy.Image) ([][]byte, error) {
	if img.Layout != "" {
		return nil, nil
	}
	if f.Carried != nil {
		if bodies, ok := f.Carried(img); ok {
			return bodies, nil
		}
	}
	at := f.Registries.Lookaside(img.Reference, img.Digest)
	if at == "" && f.Lookaside != "" {
		at = registriesd.Address(f.Lookaside, img.Reference, img.Digest)
	}
	if at == "" {
		return nil, nil
	}
	var all [][]byte
	for n := 1; n <= maxSimple; n++ {
		body, err := f.file(ctx, at+strconv.Itoa(n))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, body)
	}
	return all, nil
}

// file reads a signature from a web server or a folder.
func (f *Finder) file(ctx context.Context, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "file" {
		return f.Get.Get(ctx, address, "", gpg.MaxSize)
	}
	text, _, err := regular.ReadPath(u.Path, gpg.MaxSize)
	return text, err
}
