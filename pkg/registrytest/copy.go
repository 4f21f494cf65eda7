package registrytest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Copy copies an image or index from another registry, with all its content, byte for byte, and tags
// it unless tag is "". It is how a tool other than Gantry fills a mirror.
func (c *Client) Copy(ctx context.Context, from *Client, source, tagOrDigest, repository, tag string) error {
	if err := c.copy(ctx, from, source, tagOrDigest, repository, tag); err != nil {
		return fmt.Errorf("copying %s/%s (%s) to %s/%s: %w", from.host, source, tagOrDigest, c.host, repository, err)
	}
	return nil
}

func (c *Client) copy(ctx context.Context, from *Client, source, name, repository, tag string) error {
	raw, m, err := from.manifest(ctx, source, name)
	if err != nil {
		return err
	}
	for _, child := range m.Manifests {
		if err := c.copy(ctx, from, source, child.Digest.String(), repository, ""); err != nil {
			return err
		}
	}
	blobs := m.Layers
	if m.Config.Digest != "" {
		blobs = append(slices.Clip(blobs), m.Config)
	}
	for _, desc := range blobs {
		if err := c.copyBlob(ctx, from, source, desc, repository); err != nil {
			return err
		}
	}
	return c.put(ctx, repository, "manifests/"+cmp.Or(tag, digest.FromBytes(raw).String()), m.MediaType, raw)
}

func (c *Client) copyBlob(ctx context.Context, from *Client, source string, desc ocispec.Descriptor, repository string) error {
	var data bytes.Buffer
	if err := from.blob(ctx, source, desc, &data); err != nil {
		return err
	}
	return c.pushBlob(ctx, repository, data.Bytes())
}
