package main

import (
	"context"
	"errors"
	"io"
	"io/fs"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/plan"
)

// leftOutSource is an archive, with the blobs that it leaves out read from the mirror
// that has them: catalogs that are built again are read whole.
type leftOutSource struct {
	mirror.Source
	at   *registryTarget
	plan *plan.Plan
}

// Blob implements mirror.Source. Where the mirror does not have it either, the error is
// that of the archive, which names the one that is needed.
func (s *leftOutSource) Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	body, err := s.Source.Blob(ctx, from, desc, offset)
	if !errors.Is(err, fs.ErrNotExist) {
		return body, err
	}
	sink, unnamed := s.at.sink(s.plan)
	if unnamed != nil {
		return nil, unnamed
	}
	site, ok := sink.(interface {
		Blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error)
	})
	if !ok {
		return nil, err
	}
	for _, repository := range s.repositories(from, desc) {
		there, absent := site.Blob(ctx, repository, desc, offset)
		if absent == nil {
			return there, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, err
}

// repositories are those of the mirror where a blob of an image may stand.
func (s *leftOutSource) repositories(from string, desc ocispec.Descriptor) []string {
	var all []string
	for _, img := range s.plan.Images {
		if img.Source == from {
			all = append(all, img.Repository)
			break
		}
	}
	if s.at.elsewhere != nil {
		if repository := s.at.elsewhere(desc); repository != "" {
			all = append(all, repository)
		}
	}
	return all
}
