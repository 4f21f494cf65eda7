// Package image reads container images: their manifests, configs and layers.
package image

import (
	"context"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// A Reader reads manifests and blobs of images, wherever they are: at a registry, in an archive, in
// an OCI layout. It is safe for concurrent use.
//
// source names where the content is: an image reference in full ("quay.io/org/name:v1"), a
// repository, or "oci://DIR". A reader that finds content by digest alone ignores it. Content that
// does not exist is an error that matches fs.ErrNotExist.
type Reader interface {
	// Manifest returns the manifest d, or, if d is empty, the one that source itself names. The
	// bytes match the descriptor's digest.
	Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error)
	// Blob opens a blob at an offset, from 0 to its size. A blob that is read from offset 0 is
	// compared with its digest: the stream ends with an error in place of io.EOF if the bytes are
	// wrong. Read from another offset, it has the right length, and the caller compares the bytes.
	Blob(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error)
}
