package image

import (
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// ErrNotConvertible is the error of Convert for an image that the format cannot express.
var ErrNotConvertible = errors.New("it cannot be converted")

// A Conversion says what Convert writes.
type Conversion struct {
	Format manifest.Format
	// Keep reports whether an image or a nested index of an index is kept, by its original digest; nil keeps
	// all. What is not kept is not read.
	Keep func(digest.Digest) bool
	// KeepMade does the same by the digest after the conversion; nil keeps all. An image that is not available or
	// cannot be converted is not kept then.
	KeepMade func(digest.Digest) bool
}

// Convert writes the manifests of an image to store with the media types of another format. Configs and
// layers keep their bytes, so only manifests and indexes are written. Those that have the format already
// stay, unless something below an index changes.
//
// Docker's manifests have no annotations, and its lists no attestations: both are left out. A layer
// compressed with zstd, an artifact, and an index in an index match ErrNotConvertible. The same manifests
// give the same bytes, and converting the result again writes nothing.
//
// Convert returns the manifests that were written, by the manifest that each replaces.
func Convert(ctx context.Context, r Reader, store Store, source string, root digest.Digest, c Conversion) (map[digest.Digest]ocispec.Descriptor, error) {
	v := &converter{Reader: r, Conversion: c, builder: builder{store: store, seen: map[digest.Digest]bool{}}, source: source, written: map[digest.Digest]ocispec.Descriptor{}}
	_, err := v.convert(ctx, ocispec.Descriptor{Digest: root}, 0)
	return v.written, err
}

type converter struct {
	Reader
	Conversion
	builder
	source  string
	written map[digest.Digest]ocispec.Descriptor
}

// convert writes a manifest or index in the format, and returns its descriptor.
func (v *converter) convert(ctx context.Context, desc ocispec.Descriptor, depth int) (ocispec.Descriptor, error) {
	if made, ok := v.written[desc.Digest]; ok {
		return made, nil
	}
	if depth > maxIndexes {
		return desc, fmt.Errorf("%s is nested in more than %d indexes", desc.Digest, maxIndexes)
	}
	got, raw, err := v.Manifest(ctx, v.source, desc.Digest)
	if err != nil {
		return desc, err
	}
	if own := manifest.TypeOf(raw); own != "" {
		got.MediaType = own
	}
	object, err := DecodeObject(raw)
	if err != nil {
		return desc, fmt.Errorf("reading manifest %s: %w", desc.Digest, err)
	}
	var made Object
	if manifest.IsIndex(got.MediaType) {
		made, err = v.index(ctx, got, object, depth)
	} else {
		made, err = manifestFormat(v.Format).convert(got, object)
	}
	switch {
	case err != nil && depth > 0:
		return desc, fmt.Errorf("manifest %s: %w", got.Digest, err)
	case err != nil:
		return desc, err
	case made == nil:
		return got, nil
	}
	mediaType, _ := v.Format.Equivalent(got.MediaType)
	out, err := v.write(ctx, mediaType, made)
	if err != nil {
		return desc, err
	}
	v.written[desc.Digest] = out
	return out, nil
}
