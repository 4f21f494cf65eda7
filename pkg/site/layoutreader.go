package site

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// A LayoutReader reads a layout, in which content is found by its digest.
type LayoutReader struct{ *layout.Layout }

// Manifest implements image.Reader.
func (r LayoutReader) Manifest(ctx context.Context, _ string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	size, ok := r.Size(d)
	if !ok {
		return ocispec.Descriptor{}, nil, fmt.Errorf("manifest %s: %w", d, fs.ErrNotExist)
	}
	desc := ocispec.Descriptor{Digest: d, Size: size}
	raw, err := r.Read(ctx, desc, manifest.MaxSize)
	return desc, raw, err
}

// Blob implements image.Reader.
func (r LayoutReader) Blob(ctx context.Context, _ string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return r.Layout.Blob(ctx, desc, offset)
}

// MaxFileTags limits the tags of files that are listed, and FileReads how many are read at a time.
const (
	MaxFileTags = 10_000
	FileReads   = 8
)
