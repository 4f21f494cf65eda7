package mirror

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/plan"
)

// An Overlay is a Source that has, beside what Source has, what was built here.
type Overlay struct {
	Source
	// Built has the content for which Has is true, and is asked for it where
	// Source says fs.ErrNotExist.
	Built Source
	Has   func(d digest.Digest) bool
}

func (o *Overlay) built(err error, d digest.Digest) bool {
	return err != nil && errors.Is(err, fs.ErrNotExist) && o.Has(d)
}

// Manifest implements Source.
func (o *Overlay) Manifest(ctx context.Context, from string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	desc, raw, err := o.Source.Manifest(ctx, from, d)
	if o.built(err, d) {
		return o.Built.Manifest(ctx, from, d)
	}
	return desc, raw, err
}

// Blob implements Source.
func (o *Overlay) Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	body, err := o.Source.Blob(ctx, from, desc, offset)
	if o.built(err, desc.Digest) {
		return o.Built.Blob(ctx, from, desc, offset)
	}
	return body, err
}

// Planning is the Overlay for building catalogs again.
func (o *Overlay) Planning() plan.Images { return planningOverlay{o} }

type planningOverlay struct{ *Overlay }

func (p planningOverlay) Blob(ctx context.Context, from string, desc ocispec.Descriptor) (io.ReadCloser, error) {
	return p.Overlay.Blob(ctx, from, desc, 0)
}
