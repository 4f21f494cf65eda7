// Package mirror copies the images of a plan from a source to a destination: it compares the plan
// with what the destination has, and copies what is missing.
//
// The unit of work is the unique blob, not the image. Each blob is read from the source once,
// however many images and repositories share it; further repositories of a registry get it by a
// cross-repository mount. Large blobs go first. An image's manifests follow as soon as its last
// blob is complete: children before the index, the tag last. Catalogs and releases are published
// only when every image that they name is present. Otherwise images do not wait for each other.
//
// Content flows from an image.Reader to a Destination: a registry, an archive or an OCI layout on
// either side. Bytes are hashed while they are copied, except for blobs of an archive on their way to
// a registry that proved that it compares them with their digest.
//
// An image that fails does not stop the others. It is reported, and the catalogs and releases that
// name it are withheld. After an interruption, the same run continues: completed content is found
// and not sent again.
//
// Compare and Verify compare a plan with a destination without changing it. VerifyLayout reads all
// content of an OCI layout.
package mirror

import (
	"context"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Open opens a blob at an offset, as image.Reader does. A destination may call it again, to start
// over at 0 or to continue an upload.
type Open = func(ctx context.Context, offset int64) (io.ReadCloser, error)

// A Destination receives content. When PutBlob or PutManifest returns nil, the content is stored
// durably under its digest. repository is a repository path of the plan; a destination that stores
// content by digest alone ignores it. tags is empty for the child of an index.
type Destination interface {
	PutBlob(ctx context.Context, repository string, desc ocispec.Descriptor, open Open) error
	PutManifest(ctx context.Context, repository string, desc ocispec.Descriptor, raw []byte, tags []string) error
}

// A Store is a Destination that knows which content it has, by digest alone: an archive or a
// layout.
type Store interface {
	Has(desc ocispec.Descriptor) bool
}

// A Registry is a Destination that stores content by repository and answers queries.
type Registry interface {
	Destination
	// HasManifest reports whether the repository has the manifest, under tag if that is not empty.
	HasManifest(ctx context.Context, repository, tag string, desc ocispec.Descriptor) (bool, error)
	HasBlob(ctx context.Context, repository string, desc ocispec.Descriptor) (bool, error)
	// Tags returns at most limit tags of the repository, and none if the repository does not exist.
	Tags(ctx context.Context, repository string, limit int) ([]string, error)
	// MountBlob is PutBlob for a blob that the repository from has. It reports whether the blob was
	// mounted; otherwise it was sent.
	MountBlob(ctx context.Context, repository string, desc ocispec.Descriptor, from string, open Open) (bool, error)
}

// A Journal records which blobs an unfinished run copied to which repository. Without one, such
// blobs are found only in repositories that already have a tag.
type Journal interface {
	Has(repository string, d digest.Digest) bool
	Add(repository string, d digest.Digest) error
}
