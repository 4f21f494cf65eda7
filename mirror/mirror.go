// Package mirror carries a plan out: it finds what the destination lacks and
// copies that, once each, in an order in which nothing is ever seen half done.
//
// The unit of work is the unique blob, not the image. All blobs of a plan are
// one set; each crosses from the source once, however many images and
// repositories share it, and reaches further repositories of a registry by
// mount. Blobs come first, largest first; an image's manifests follow as soon
// as its last blob is there, children before the index, the tag last; a catalog
// is published only when every image that it names has arrived. There is no
// barrier between images.
//
// Content flows from a Source to a Sink, both declared here: a registry, an
// archive or an OCI layout on either side. Bytes are hashed while they stream.
// An image that fails does not stop the others; it is reported, and the
// catalogs that name it are held back. A run that was interrupted is run again:
// what arrived is found and not sent twice.
package mirror

import (
	"context"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// A Source gives content by digest. from is the source of an image that holds
// it, as the plan has it; a source that needs no such hint ignores it. What is
// returned has been compared with its digest; a blob's reader returns an error
// in place of io.EOF where the bytes were wrong. A blob that is read from an
// offset, 0 to its size, ends where it should, but what it holds is not
// compared: who reads it has seen the bytes before, or has them compared.
type Source interface {
	Manifest(ctx context.Context, from string, d digest.Digest) (ocispec.Descriptor, []byte, error)
	Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error)
}

// Open opens a blob at an offset, as Source does. A sink may call it again, to
// start over with 0 or to go on where its destination has come.
type Open = func(ctx context.Context, offset int64) (io.ReadCloser, error)

// A Sink takes content. When PutBlob or PutManifest returns nil, the content
// stands under its digest, whole and durable. repository is a path of the plan;
// a sink that keeps content by digest alone ignores it. tags is empty for the
// child of an index.
type Sink interface {
	PutBlob(ctx context.Context, repository string, desc ocispec.Descriptor, open Open) error
	PutManifest(ctx context.Context, repository string, desc ocispec.Descriptor, raw []byte, tags []string) error
}

// A Holder is a Sink that knows by itself which content it has, by digest
// alone: an archive or a layout.
type Holder interface {
	Has(desc ocispec.Descriptor) bool
}

// A Registry is a Sink that keeps content by repository and can be asked.
type Registry interface {
	Sink
	// HasManifest reports whether the repository has the manifest, under tag
	// where one is given.
	HasManifest(ctx context.Context, repository, tag string, desc ocispec.Descriptor) (bool, error)
	HasBlob(ctx context.Context, repository string, desc ocispec.Descriptor) (bool, error)
	// Tags lists tags of the repository, at most limit of them; none where there
	// is no such repository.
	Tags(ctx context.Context, repository string, limit int) ([]string, error)
	// MountBlob is PutBlob for a blob that another repository has. It reports
	// whether the blob could be mounted; otherwise it was sent.
	MountBlob(ctx context.Context, repository string, desc ocispec.Descriptor, from string, open Open) (bool, error)
}

// A Journal remembers which blobs an unfinished run brought to which
// repository. Without one, such blobs are found only in repositories that have
// a tag already.
type Journal interface {
	Has(repository string, d digest.Digest) bool
	Add(repository string, d digest.Digest) error
}
