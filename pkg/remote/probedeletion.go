package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// probeType is the artifact type of the manifest that ProbeDeletion pushes and deletes.
const probeType = "application/vnd.gantry.probe.v1"

// ProbeDeletion finds out whether a registry deletes content, and whether it deletes a tag without its
// manifest: it pushes an artifact of a few hundred bytes with two tags to the repository, deletes one
// tag, and then the artifact. The tags are made of the artifact's digest, like those of signatures. If
// the registry deletes nothing, the error wraps ErrNoDelete, and the artifact stays.
func (c *Client) ProbeDeletion(ctx context.Context, repository reference.Reference) (tags bool, err error) {
	repository = repository.Repository()
	config := ocispec.DescriptorEmptyJSON
	data := config.Data
	config.Data = nil
	raw, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: probeType,
		Config: config, Layers: []ocispec.Descriptor{config},
	})
	if err != nil {
		return false, err
	}
	open := func(_ context.Context, offset int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data[offset:])), nil
	}
	if _, err := c.PushBlob(ctx, repository, config, nil, open); err != nil {
		return false, err
	}
	probe := repository.WithDigest(digest.FromBytes(raw))
	first := repository.WithTag("sha256-" + probe.Digest.Encoded() + ".probe")
	second := first.WithTag(first.Tag + "-2")
	for _, tag := range []reference.Reference{first, second} {
		err := c.PushManifest(ctx, tag, ocispec.MediaTypeImageManifest, raw)
		if MayRefuseType(err) {
			probe.Digest, err = c.PushDockerArtifact(ctx, tag, raw)
		}
		if err != nil {
			return false, err
		}
	}
	if tags, err = c.deletesTags(ctx, first, second); err != nil {
		return false, err
	}
	if tags { // some registries keep the tags of a manifest that is deleted
		if _, err := c.DeleteTag(ctx, second); err != nil {
			return false, err
		}
	}
	if _, err := c.DeleteManifest(ctx, probe); err != nil {
		return false, err
	}
	_, found, err := c.ManifestExists(ctx, probe)
	if err == nil && found {
		err = fmt.Errorf("deleting %s: the registry accepted that, but still has it: %w", probe, ErrNoDelete)
	}
	return tags, err
}

// deletesTags deletes the first of two tags of a manifest. It reports whether that is all that the
// registry deleted.
func (c *Client) deletesTags(ctx context.Context, first, second reference.Reference) (bool, error) {
	deleted, err := c.DeleteTag(ctx, first)
	var refused *Error
	if errors.As(err, &refused) && 400 <= refused.Status && refused.Status < 500 && !errors.Is(err, ErrUnauthorized) {
		return false, nil // the manifest itself is tried next
	}
	if err != nil || !deleted {
		return false, err
	}
	_, found, err := c.ManifestExists(ctx, first)
	if err != nil || found {
		return false, err
	}
	_, found, err = c.ManifestExists(ctx, second)
	return found, err
}
