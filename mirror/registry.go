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
)

// registrySink is a registry as a place for a plan's content.
type registrySink struct {
	client *remote.Client
	names  map[string]reference.Reference
}

// ToRegistry is the Sink that is a registry. names are the repositories of the
// plan as they are called there (Destination.Names).
func ToRegistry(client *remote.Client, names map[string]reference.Reference) Registry {
	return &registrySink{client: client, names: names}
}

func (s *registrySink) name(repository string) (reference.Reference, error) {
	ref, ok := s.names[repository]
	if !ok {
		return reference.Reference{}, fmt.Errorf("repository %s is not in the plan", repository)
	}
	return ref, nil
}

func (s *registrySink) HasManifest(ctx context.Context, repository, tag string, desc ocispec.Descriptor) (bool, error) {
	ref, err := s.name(repository)
	if err != nil {
		return false, err
	}
	if tag == "" {
		ref = ref.WithDigest(desc.Digest)
	} else {
		ref = ref.WithTag(tag)
	}
	got, ok, err := s.client.ManifestExists(ctx, ref)
	return ok && got.Digest == desc.Digest, err
}

func (s *registrySink) HasBlob(ctx context.Context, repository string, desc ocispec.Descriptor) (bool, error) {
	ref, err := s.name(repository)
	if err != nil {
		return false, err
	}
	return s.client.BlobExists(ctx, ref, desc)
}

// Blob implements reader.
func (s *registrySink) Blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	ref, err := s.name(repository)
	if err != nil {
		return nil, err
	}
	return s.client.BlobBeside(ctx, ref, desc, offset)
}

func (s *registrySink) Tags(ctx context.Context, repository string, limit int) ([]string, error) {
	ref, err := s.name(repository)
	if err != nil {
		return nil, err
	}
	tags, err := s.client.Tags(ctx, ref, limit)
	if errors.Is(err, remote.ErrNotFound) {
		return nil, nil
	}
	return tags, err
}

func (s *registrySink) PutBlob(ctx context.Context, repository string, desc ocispec.Descriptor, open Open) error {
	ref, err := s.name(repository)
	if err != nil {
		return err
	}
	_, err = s.client.PushBlob(ctx, ref, desc, nil, open)
	return err
}

func (s *registrySink) MountBlob(ctx context.Context, repository string, desc ocispec.Descriptor, from string, open Open) (bool, error) {
	ref, err := s.name(repository)
	if err != nil {
		return false, err
	}
	origin, err := s.name(from)
	if err != nil {
		return false, err
	}
	return s.client.PushBlob(ctx, ref, desc, []string{origin.Path}, open)
}

func (s *registrySink) PutManifest(ctx context.Context, repository string, desc ocispec.Descriptor, raw []byte, tags []string) error {
	ref, err := s.name(repository)
	if err != nil {
		return err
	}
	if digest.FromBytes(raw) != desc.Digest {
		return fmt.Errorf("manifest %s has other bytes", desc.Digest)
	}
	if len(tags) == 0 {
		return s.client.PushManifest(ctx, ref.WithDigest(desc.Digest), desc.MediaType, raw)
	}
	for _, tag := range tags {
		if err := s.client.PushManifest(ctx, ref.WithTag(tag), desc.MediaType, raw); err != nil {
			return err
		}
	}
	return nil
}
