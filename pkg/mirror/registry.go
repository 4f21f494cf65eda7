package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// registryDestination is a registry as a Destination.
type registryDestination struct {
	client       *remote.Client
	repositories map[string]reference.Reference
	byDigest     bool
}

// NewRegistryDestination returns a registry as a Destination. repositories are those of the
// registry by the repositories of the plan, as [RegistryPath.Repositories] returns them.
func NewRegistryDestination(client *remote.Client, repositories map[string]reference.Reference) Registry {
	return &registryDestination{client: client, repositories: repositories}
}

// NewRegistryByDigest returns a registry like NewRegistryDestination that finds manifests by their digests
// alone, whatever their tags have.
func NewRegistryByDigest(client *remote.Client, repositories map[string]reference.Reference) Registry {
	return &registryDestination{client: client, repositories: repositories, byDigest: true}
}

func (s *registryDestination) reference(repository string) (reference.Reference, error) {
	ref, ok := s.repositories[repository]
	if !ok {
		return reference.Reference{}, fmt.Errorf("repository %s is not in the plan", repository)
	}
	return ref, nil
}

func (s *registryDestination) HasManifest(ctx context.Context, repository, tag string, desc ocispec.Descriptor) (bool, error) {
	ref, err := s.reference(repository)
	if err != nil {
		return false, err
	}
	if tag == "" || s.byDigest {
		ref = ref.WithDigest(desc.Digest)
	} else {
		ref = ref.WithTag(tag)
	}
	got, ok, err := s.client.ManifestExists(ctx, ref)
	return ok && got.Digest == desc.Digest, err
}

func (s *registryDestination) HasBlob(ctx context.Context, repository string, desc ocispec.Descriptor) (bool, error) {
	ref, err := s.reference(repository)
	if err != nil {
		return false, err
	}
	return s.client.BlobExists(ctx, ref, desc)
}

// ReadBlob implements contentReader.
func (s *registryDestination) ReadBlob(ctx context.Context, repository string, desc ocispec.Descriptor) error {
	ref, err := s.reference(repository)
	if err != nil {
		return err
	}
	body, err := s.client.Blob(ctx, ref, desc, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, body)
	return errors.Join(err, body.Close())
}

// ReadManifest implements contentReader.
func (s *registryDestination) ReadManifest(ctx context.Context, repository string, desc ocispec.Descriptor) error {
	ref, err := s.reference(repository)
	if err != nil {
		return err
	}
	_, _, err = s.client.Manifest(ctx, ref.WithDigest(desc.Digest))
	return err
}

// AddTag implements tagAdder.
func (s *registryDestination) AddTag(ctx context.Context, repository string, desc ocispec.Descriptor, tag string) error {
	ref, err := s.reference(repository)
	if err != nil {
		return err
	}
	_, raw, err := s.client.Manifest(ctx, ref.WithDigest(desc.Digest))
	if err != nil {
		return err
	}
	return s.client.PushManifest(ctx, ref.WithTag(tag), desc.MediaType, raw)
}

// Blob implements blobReader.
func (s *registryDestination) Blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	ref, err := s.reference(repository)
	if err != nil {
		return nil, err
	}
	return s.client.BlobForUpload(ctx, ref, desc, offset)
}

func (s *registryDestination) Tags(ctx context.Context, repository string, limit int) ([]string, error) {
	ref, err := s.reference(repository)
	if err != nil {
		return nil, err
	}
	tags, err := s.client.Tags(ctx, ref, limit)
	if errors.Is(err, remote.ErrNotFound) {
		return nil, nil
	}
	return tags, err
}

// Referrers implements referrerLister.
func (s *registryDestination) Referrers(ctx context.Context, repository string, subject digest.Digest) (map[digest.Digest]bool, error) {
	ref, err := s.reference(repository)
	if err != nil {
		return nil, err
	}
	list, err := s.client.ListedReferrers(ctx, ref.WithDigest(subject))
	listed := map[digest.Digest]bool{}
	for _, d := range list {
		listed[d.Digest] = true
	}
	return listed, err
}

// Existing implements repositoryLister.
func (s *registryDestination) Existing(ctx context.Context, limit int) (map[string]bool, error) {
	first := slices.Min(slices.Collect(maps.Keys(s.repositories))) // credentials may be for a part of the registry
	names, err := s.client.Repositories(ctx, s.repositories[first], limit)
	if err != nil {
		return nil, err
	}
	listed := make(map[string]bool, len(names))
	for _, name := range names {
		listed[name] = true
	}
	existing := map[string]bool{}
	for repository, ref := range s.repositories {
		existing[repository] = listed[ref.Path]
	}
	return existing, nil
}

func (s *registryDestination) PutBlob(ctx context.Context, repository string, desc ocispec.Descriptor, open Open) error {
	ref, err := s.reference(repository)
	if err != nil {
		return err
	}
	_, err = s.client.PushBlob(ctx, ref, desc, nil, open)
	return err
}

func (s *registryDestination) MountBlob(ctx context.Context, repository string, desc ocispec.Descriptor, from string, open Open) (bool, error) {
	ref, err := s.reference(repository)
	if err != nil {
		return false, err
	}
	source, err := s.reference(from)
	if err != nil {
		return false, err
	}
	return s.client.PushBlob(ctx, ref, desc, []string{source.Path}, open)
}

// VerifiesUploads implements uploadVerifier.
func (s *registryDestination) VerifiesUploads(ctx context.Context, repository string) bool {
	ref, err := s.reference(repository)
	return err == nil && s.client.VerifiesUploads(ctx, ref)
}

func (s *registryDestination) PutManifest(ctx context.Context, repository string, desc ocispec.Descriptor, raw []byte, tags []string) error {
	ref, err := s.reference(repository)
	if err != nil {
		return err
	}
	if digest.FromBytes(raw) != desc.Digest {
		return fmt.Errorf("the bytes of manifest %s do not match its digest", desc.Digest)
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
