package plan

import (
	"context"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Images reads images where they are. source is an image reference in full
// ("quay.io/org/name:v1", the tag deciding only where no digest is asked for)
// or "oci://DIR". What is returned has been compared with its digest; a blob's
// reader returns an error in place of io.EOF where the bytes were wrong.
type Images interface {
	// Manifest returns the manifest d of the source's repository, or, where d is
	// empty, the one that source itself names.
	Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error)
	Blob(ctx context.Context, source string, desc ocispec.Descriptor) (io.ReadCloser, error)
}

// Files reads what lies beside the configuration.
type Files interface {
	// Dir opens the folder of a dir:// catalog.
	Dir(path string) (fs.FS, error)
	ReadFile(path string) ([]byte, error)
}

// Store keeps the manifests and blobs of the catalog images that are built, and
// says what became of them. Mirroring reads them from there.
type Store interface {
	Write(ctx context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error)
}
