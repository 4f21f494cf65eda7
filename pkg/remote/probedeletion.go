package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// probeType is the artifact type of the manifest that ProbeDeletion pushes and deletes.
const probeType = "application/vnd.gantry.probe.v1"

// A Deletion is how a registry deletes.
type Deletion struct {
	Tags      bool // it deletes a tag without its manifest
	KeepsTags bool // and a manifest without its tags
}

// ProbeDeletion finds out whether a registry deletes content, and whether it deletes a tag without its
// manifest: it pushes an artifact of a few hundred bytes with two tags to the repository, deletes one
// tag, and then the artifact. The tags are made of the artifact's digest, like those of signatures. If
// the registry deletes nothing, the error wraps ErrNoDelete, and the artifact stays.
func (c *Client) ProbeDeletion(ctx context.Context, repository reference.Reference) (d Deletion, err error) {
	repository = repository.Repository()
	config := ocispec.DescriptorEmptyJSON
	data := config.Data
	config.Data = nil
	raw, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: probeType,
		Config: config, Layers: []ocispec.Descriptor{config},
	})
	if err != nil {
		return d, err
	}
	open := func(_ context.Context, offset int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data[offset:])), nil
	}
	if _, err := c.PushBlob(ctx, repository, config, nil, open); err != nil {
		return d, err
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
			return d, err
		}
	}
	if d.Tags, err = c.deletesTags(ctx, first, second); err != nil {
		return d, err
	}
	if _, err := c.DeleteManifest(ctx, probe); err != nil {
		return d, err
	}
	_, found, err := c.ManifestExists(ctx, probe)
	if err == nil && found {
		err = fmt.Errorf("deleting %s: the registry accepted that, but still has it: %w", probe, ErrNoDelete)
	}
	if err == nil && d.Tags {
		d.KeepsTags, err = c.deleteLeftTag(ctx, second, probe, raw)
	}
	return d, err
}

// deleteLeftTag reports whether a registry has a tag whose manifest was deleted, and deletes it. Some delete a tag only as
// long as its manifest is there.
func (c *Client) deleteLeftTag(ctx context.Context, tag, probe reference.Reference, raw []byte) (left bool, err error) {
	listed, err := c.Tags(ctx, tag.Repository(), 0)
	switch {
	case notFound(err): // the repository went with its last manifest
		return false, nil
	case err != nil || !slices.Contains(listed, tag.Tag):
		return false, err
	}
	if err = c.PushManifest(ctx, tag, ocispec.MediaTypeImageManifest, raw); err == nil {
		if _, err = c.DeleteTag(ctx, tag); err == nil {
			_, err = c.DeleteManifest(ctx, probe)
		}
	}
	return true, err
}

// deletesTags deletes the first of two tags of a manifest. It reports whether that is all that the
// registry deleted.
func (c *Client) deletesTags(ctx context.Context, first, second reference.Reference) (bool, error) {
	deleted, err := c.DeleteTag(ctx, first)
	if refused, ok := errors.AsType[*Error](err); ok && 400 <= refused.Status && refused.Status < 500 && !errors.Is(err, ErrUnauthorized) {
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
