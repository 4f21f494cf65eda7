package mirror

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	images "github.com/gantry-mirror/gantry/pkg/image"
)

// An Overlay reads what Source has and, beside it, what was built here.
type Overlay struct {
	Source images.Reader
	// Built has the content for which Has is true. It is used if the other source returns
	// fs.ErrNotExist.
	Built images.Reader
	Has   func(d digest.Digest) bool
}

func (o *Overlay) built(err error, d digest.Digest) bool {
	return err != nil && errors.Is(err, fs.ErrNotExist) && o.Has(d)
}

// Manifest implements image.Reader.
func (o *Overlay) Manifest(ctx context.Context, from string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	desc, raw, err := o.Source.Manifest(ctx, from, d)
	if o.built(err, d) {
		return o.Built.Manifest(ctx, from, d)
	}
	return desc, raw, err
}

// UnhashedBlob is Blob that leaves it to the caller to compare the content with its digest, if Source
// has such content.
func (o *Overlay) UnhashedBlob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	source, ok := o.Source.(unhashedReader)
	if !ok {
		return o.Blob(ctx, from, desc, offset)
	}
	body, err := source.UnhashedBlob(ctx, from, desc, offset)
	if o.built(err, desc.Digest) {
		return o.Built.Blob(ctx, from, desc, offset)
	}
	return body, err
}

// Blob implements image.Reader.
func (o *Overlay) Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	body, err := o.Source.Blob(ctx, from, desc, offset)
	if o.built(err, desc.Digest) {
		return o.Built.Blob(ctx, from, desc, offset)
	}
	return body, err
}
