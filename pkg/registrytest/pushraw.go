package registrytest

import (
	"context"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
)

// PushRaw pushes a manifest of any kind as it is, after its blobs, tags it unless tag is "", and returns its
// digest. It is for artifacts that are not container images.
func (c *Client) PushRaw(ctx context.Context, repository, tag, mediaType string, manifest []byte, blobs ...[]byte) (digest.Digest, error) {
	for _, data := range blobs {
		d := digest.FromBytes(data)
		if err := c.pushBlob(ctx, repository, v1.Hash{Algorithm: d.Algorithm().String(), Hex: d.Encoded()}, data); err != nil {
			return "", fmt.Errorf("pushing blob %s to %s/%s: %w", d, c.host, repository, err)
		}
	}
	d := digest.FromBytes(manifest)
	name := tag
	if name == "" {
		name = d.String()
	}
	if err := c.put(ctx, repository, "manifests/"+name, mediaType, manifest); err != nil {
		return "", fmt.Errorf("pushing %s to %s/%s: %w", d, c.host, repository, err)
	}
	return d, nil
}
