package remote

import (
	"bytes"
	"context"
	"io"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// PushDockerArtifact pushes an OCI artifact of Gantry, such as a record, to a registry that refuses the media
// types of OCI: as an image of Docker (manifest.DockerArtifact), and the blobs that it adds. ref has a tag. It
// returns the digest of that image.
func (c *Client) PushDockerArtifact(ctx context.Context, ref reference.Reference, raw []byte) (digest.Digest, error) {
	image, blobs, err := manifest.DockerArtifact(raw)
	if err != nil {
		return "", err
	}
	for _, b := range blobs {
		have, err := c.BlobExists(ctx, ref.Repository(), b.Descriptor)
		if err == nil && !have {
			_, err = c.PushBlob(ctx, ref.Repository(), b.Descriptor, nil, func(_ context.Context, offset int64) (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(b.Data[offset:])), nil
			})
		}
		if err != nil {
			return "", err
		}
	}
	return digest.FromBytes(image), c.PushManifest(ctx, ref, manifest.DockerImage, image)
}
