package image

import (
	"context"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// List reads one layer of a platform to its end, by its position in the manifest, and compares it
// with its diff ID.
func (i *Image) List(ctx context.Context, p *Platform, layer int, l *Lister) (_ *Listing, err error) {
	desc := p.Layers[layer]
	defer func() {
		if err != nil {
			err = fmt.Errorf("layer %s: %w", desc.Digest, err)
		}
	}()
	if !layers.IsType(desc.MediaType) {
		return nil, fmt.Errorf("the media type %q is not supported", desc.MediaType)
	}
	var found *Listing
	sum, err := i.stream(ctx, desc, l.Budget, func(r io.Reader) error {
		var err error
		found, err = l.List(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	if sum != p.DiffIDs[layer] {
		return nil, fmt.Errorf("it unpacks to %s, but the config says %s", sum, p.DiffIDs[layer])
	}
	return found, nil
}

// stream unpacks a layer, calls read with the tar archive and returns the archive's digest.
func (i *Image) stream(ctx context.Context, desc ocispec.Descriptor, left *layers.Budget, read func(io.Reader) error) (digest.Digest, error) {
	blob, err := i.reader.Blob(ctx, i.source, desc, 0)
	if err != nil {
		return "", err
	}
	return layers.Read(blob, left, read)
}
