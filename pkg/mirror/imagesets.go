package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// ImageSets is the repository with the records that a mirror has of its image sets. It is a
// setrecord.Reader and a setrecord.Writer.
type ImageSets struct {
	client     *remote.Client
	mirror     RegistryPath
	repository reference.Reference
}

// NewImageSets returns the repository with the records of a mirror. No request is made.
func NewImageSets(client *remote.Client, mirror RegistryPath) *ImageSets {
	return &ImageSets{client: client, mirror: mirror, repository: mirror.OwnRepository(setrecord.Repository)}
}

// Mirror implements setrecord.Reader.
func (s *ImageSets) Mirror() (host, prefix string) { return s.mirror.Host, s.mirror.Prefix }

// Repository returns the repository in the registry.
func (s *ImageSets) Repository() reference.Reference { return s.repository }

// Tags implements setrecord.Reader.
func (s *ImageSets) Tags(ctx context.Context) ([]string, error) {
	return s.client.Tags(ctx, s.repository, 0)
}

// Manifest implements setrecord.Reader.
func (s *ImageSets) Manifest(ctx context.Context, tag string) (ocispec.Descriptor, []byte, error) {
	return s.client.Manifest(ctx, s.repository.WithTag(tag))
}

// ManifestOf returns the manifest with a digest, for setrecord.Replaced.
func (s *ImageSets) ManifestOf(ctx context.Context, d digest.Digest) ([]byte, error) {
	_, raw, err := s.client.Manifest(ctx, s.repository.WithDigest(d))
	return raw, err
}

// Blob implements setrecord.Reader.
func (s *ImageSets) Blob(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	return s.client.Blob(ctx, s.repository, desc, 0)
}

// PutBlob implements setrecord.Writer.
func (s *ImageSets) PutBlob(ctx context.Context, desc ocispec.Descriptor, open setrecord.Open) error {
	have, err := s.client.BlobExists(ctx, s.repository, desc)
	if err != nil || have {
		return err
	}
	_, err = s.client.PushBlob(ctx, s.repository, desc, nil, open)
	return err
}

// PutManifest implements setrecord.Writer.
func (s *ImageSets) PutManifest(ctx context.Context, tag, mediaType string, raw []byte) (digest.Digest, error) {
	d, err := digest.FromBytes(raw), s.client.PushManifest(ctx, s.repository.WithTag(tag), mediaType, raw)
	if remote.MayRefuseType(err) {
		if converted, again := s.client.PushDockerArtifact(ctx, s.repository.WithTag(tag), raw); again == nil {
			return converted, nil
		}
	}
	if errors.Is(err, remote.ErrBlobUnknown) {
		err = fmt.Errorf("%w: %w", setrecord.ErrIncomplete, err)
	}
	return d, err
}

// Remove deletes a manifest with its tags.
func (s *ImageSets) Remove(ctx context.Context, d digest.Digest) error {
	_, err := s.client.DeleteManifest(ctx, s.repository.WithDigest(d))
	return err
}
