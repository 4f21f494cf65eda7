package remote

import (
	"context"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// chunkText is what UploadsInParts uploads.
const chunkText = "Gantry checks whether this registry accepts an upload in two parts.\n"

// UploadsInParts reports whether a registry accepts a blob in several requests, by uploading a line to
// repo in two parts. Without that, an upload that breaks off starts again at its first byte, and
// proxies in between must allow bodies as large as the largest layer.
func (c *Client) UploadsInParts(ctx context.Context, repo reference.Reference) (bool, error) {
	at, err := c.destination(repo.Repository())
	if err != nil {
		return false, err
	}
	desc := ocispec.Descriptor{Digest: digest.FromString(chunkText), Size: int64(len(chunkText))}
	open := func(_ context.Context, offset int64) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(chunkText[offset:])), nil
	}
	u := &upload{c: c, at: at, desc: desc, open: open, mode: uploadMode{chunk: desc.Size / 2}}
	if _, err := u.post(ctx, ""); err != nil {
		return false, err
	}
	if err := u.send(ctx); err != nil {
		u.tryCancel(ctx)
		if e := registryError(err); e != nil && refusesContent(e) {
			return false, nil
		}
		return false, err
	}
	return true, nil
}
