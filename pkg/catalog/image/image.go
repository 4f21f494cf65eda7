// Package image reads the catalog of a catalog image and rebuilds the image around a filtered one,
// without a container runtime, root privileges or opm.
//
// A catalog image usually has several platforms. Its label
// operators.operatorframework.io.index.configs.v1 names a directory, and the files that the layers
// leave there are the catalog. Open reads manifests and configs. Image.Read streams the layers, the
// uppermost first, so that each file is final when it is reached and goes straight into
// catalog.Reader; nothing is unpacked to disk. It also records whether a layer has something
// besides the catalog and the cache of opm (Verdict).
//
// Build drops the layers that have nothing else, and appends one layer with the new catalog, the same
// for all platforms. If old files may remain in a layer that stays, the new layer hides them with an
// opaque whiteout within the directory: catalogd sees no tar header outside of it. The command loses
// its cache flags, since opm refuses to serve with the cache of another catalog. Scratch builds an
// image that has a catalog and nothing else.
//
// The same input gives the same digests: there is no clock and no random order. Layers, configs and
// manifests are the business of package pkg/image; this one knows labels, opm and catalogs.
package image

import (
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image"
)

// An Image is a catalog or bundle image: its manifests, its configs and, once its catalog was read,
// what its layers have. It is not safe for concurrent use.
type Image struct {
	image    *image.Image
	kind     Kind
	dir      string       // the directory of a catalog, "configs"
	labeled  string       // the labeled directory if it is a symbolic link to dir, else ""
	caches   []string     // directories of opm's cache, "tmp/cache"
	database string       // the labeled file of an SQLite index, "database/index.db"
	trees    []bundleTree // the labeled directories of a bundle
	// listings has what layers contain, by diff ID. A layer that was not read has none.
	listings map[digest.Digest]*image.Listing
}

// Open reads the manifests and configs of the image that desc names: an OCI index, a Docker manifest
// list, or a single manifest of either family. It skips attestations and other children that do not
// run.
//
// The error matches ErrNoCatalog if the image is neither a catalog nor a bundle.
func Open(ctx context.Context, r image.Reader, source string, desc ocispec.Descriptor) (*Image, error) {
	img, err := open(ctx, r, source, desc)
	if err != nil {
		return nil, fmt.Errorf("opening catalog image %s: %w", desc.Digest, err)
	}
	return img, nil
}

func open(ctx context.Context, r image.Reader, source string, desc ocispec.Descriptor) (*Image, error) {
	img, err := openAny(ctx, r, source, desc)
	if err != nil {
		return nil, err
	}
	if err := img.readLabels(); err != nil {
		return nil, err
	}
	return img, nil
}

// openAny opens an image with or without a catalog.
func openAny(ctx context.Context, r image.Reader, source string, desc ocispec.Descriptor) (*Image, error) {
	img, err := image.Open(ctx, r, source, desc)
	if errors.Is(err, image.ErrNotImage) {
		return nil, fmt.Errorf("%w: it is %w", ErrNoCatalog, err)
	}
	if err != nil {
		return nil, err
	}
	return &Image{image: img, listings: map[digest.Digest]*image.Listing{}}, nil
}
