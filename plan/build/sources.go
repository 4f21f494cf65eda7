package build

import (
	"context"
	"io"
	"io/fs"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Files reads files that the configuration names.
type Files interface {
	// Dir opens the folder of a dir:// catalog.
	Dir(path string) (fs.FS, error)
	ReadFile(path string) ([]byte, error)
}

// TagLists lists tags.
type TagLists interface {
	// AllTags returns all tags of a repository ("quay.io/org/name"). If the repository does not exist,
	// the error matches fs.ErrNotExist.
	AllTags(ctx context.Context, repository string) ([]string, error)
}

// Store stores the manifests and blobs of images that are built, and returns their descriptors.
// Mirroring reads them from there.
type Store interface {
	Write(ctx context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error)
}
