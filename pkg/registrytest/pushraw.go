package registrytest

import (
	"cmp"
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"
)

// PushRaw pushes a manifest of any kind as it is, after its blobs, tags it unless tag is "", and returns its
// digest. It is for artifacts that are not container images.
func (c *Client) PushRaw(ctx context.Context, repository, tag, mediaType string, manifest []byte, blobs ...[]byte) (digest.Digest, error) {
	for _, data := range blobs {
		if err := c.pushBlob(ctx, repository, data); err != nil {
			return "", fmt.Errorf("pushing a blob to %s/%s: %w", c.host, repository, err)
		}
	}
	d := digest.FromBytes(manifest)
	if err := c.put(ctx, repository, "manifests/"+cmp.Or(tag, d.String()), mediaType, manifest); err != nil {
		return "", fmt.Errorf("pushing %s to %s/%s: %w", d, c.host, repository, err)
	}
	return d, nil
}
