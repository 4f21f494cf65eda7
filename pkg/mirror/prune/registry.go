package prune

import (
	"context"
	"errors"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A Reader is a registry that a mirror is in, as Make reads it. Repositories are paths in the registry.
type Reader interface {
	// Tags returns all tags of a repository, none if it does not exist.
	Tags(ctx context.Context, repository string) ([]string, error)
	// Resolve returns the digest of a tag or of a manifest, "" if it does not exist.
	Resolve(ctx context.Context, repository, identifier string) (digest.Digest, error)
	// Manifest returns a manifest.
	Manifest(ctx context.Context, repository string, d digest.Digest) (mediaType string, raw []byte, err error)
	// Referrers returns the referrers of a manifest by the referrers API. If the registry does not have
	// it, api is false.
	Referrers(ctx context.Context, repository string, subject digest.Digest) (list []ocispec.Descriptor, api bool, err error)
}

// A Deleter is a registry that a mirror is in, as Execute changes it. Deleting what does not exist is no error.
type Deleter interface {
	// DeleteTag deletes a tag if it names the manifest d, or one that does not exist. deleted is false if the
	// tag names another manifest by now, or does not exist.
	DeleteTag(ctx context.Context, repository, tag string, d digest.Digest) (deleted bool, err error)
	// DeleteManifest deletes a manifest with all its tags. deleted is false if it did not exist.
	DeleteManifest(ctx context.Context, repository string, d digest.Digest) (deleted bool, err error)
	// Unlist removes manifests from the list of referrers that a tag stands for.
	Unlist(ctx context.Context, repository string, subject digest.Digest, gone []digest.Digest) error
}

// A Registry is a registry at its network address. It implements Reader and Deleter.
type Registry struct {
	Client *remote.Client
	Host   string
}

func (r *Registry) at(repository string) reference.Reference {
	return reference.Reference{Host: r.Host, Path: repository}
}

// Tags implements Reader.
func (r *Registry) Tags(ctx context.Context, repository string) ([]string, error) {
	tags, err := r.Client.Tags(ctx, r.at(repository), 0)
	if errors.Is(err, remote.ErrNotFound) {
		return nil, nil
	}
	return tags, err
}

// Resolve implements Reader.
func (r *Registry) Resolve(ctx context.Context, repository, identifier string) (digest.Digest, error) {
	ref := r.at(repository).WithTag(identifier)
	if d := digest.Digest(identifier); d.Validate() == nil {
		ref = ref.WithDigest(d)
	}
	desc, _, err := r.Client.ManifestExists(ctx, ref)
	return desc.Digest, err
}

// Manifest implements Reader.
func (r *Registry) Manifest(ctx context.Context, repository string, d digest.Digest) (string, []byte, error) {
	desc, raw, err := r.Client.Manifest(ctx, r.at(repository).WithDigest(d))
	return desc.MediaType, raw, err
}

// Referrers implements Reader.
func (r *Registry) Referrers(ctx context.Context, repository string, subject digest.Digest) ([]ocispec.Descriptor, bool, error) {
	list, err := r.Client.Referrers(ctx, r.at(repository).WithDigest(subject))
	switch {
	case errors.Is(err, remote.ErrNoReferrersAPI):
		return nil, false, nil
	case errors.Is(err, remote.ErrNotFound):
		return nil, true, nil
	}
	return list, true, err
}

// DeleteTag implements Deleter.
func (r *Registry) DeleteTag(ctx context.Context, repository, tag string, d digest.Digest) (bool, error) {
	now, err := r.Resolve(ctx, repository, tag)
	if err != nil || now != "" && now != d {
		return false, err
	}
	return r.Client.DeleteTag(ctx, r.at(repository).WithTag(tag))
}

// DeleteManifest implements Deleter.
func (r *Registry) DeleteManifest(ctx context.Context, repository string, d digest.Digest) (bool, error) {
	return r.Client.DeleteManifest(ctx, r.at(repository).WithDigest(d))
}

// Unlist implements Deleter.
func (r *Registry) Unlist(ctx context.Context, repository string, subject digest.Digest, gone []digest.Digest) error {
	return r.Client.UnlistReferrers(ctx, r.at(repository).WithDigest(subject), gone)
}
