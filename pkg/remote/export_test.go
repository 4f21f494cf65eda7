package remote

import (
	"context"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// PushInChunks is PushBlob with chunks of a size that suits a test.
func (c *Client) PushInChunks(ctx context.Context, repo reference.Reference, desc ocispec.Descriptor, open func(context.Context, int64) (io.ReadCloser, error), size int64) error {
	_, err := c.push(ctx, repo, desc, nil, open, size)
	return err
}
