// Package image reads the catalog out of a catalog image and rebuilds the image
// around a filtered one, without a container runtime, root or opm.
//
// A catalog image is an image, mostly for several platforms, whose label
// operators.operatorframework.io.index.configs.v1 names a directory. What the
// layers leave below that directory is the catalog. Open reads manifests and
// configs. Image.Read streams the layers, the uppermost first, so that each
// file is final when it is met and goes straight into catalog.Reader; nothing is
// unpacked. On the way it learns of every layer whether it holds something
// besides the catalog and the cache of opm (Verdict).
//
// Build leaves out the layers that hold nothing else and appends one layer
// with the new catalog, the same for all platforms. Where old files may remain
// in a layer that is kept, the new layer hides them with an opaque whiteout
// inside the directory: catalogd sees no tar header outside of it. The
// command loses its cache flags, since opm refuses to serve with the cache of
// another catalog. Scratch makes an image that holds a catalog and nothing else.
//
// The same input gives the same digests: no clock, no random order.
package image

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/manifest"
)

// Content gives the manifests and blobs of one image by digest. What it
// returns is verified against the descriptor: a manifest when it returns, a
// blob at the end of its stream.
type Content interface {
	Manifest(ctx context.Context, desc ocispec.Descriptor) ([]byte, error)
	Blob(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error)
}

// An Image is a catalog image: its manifests, its configs and, once its
// catalog was read, what its layers hold. It is not for concurrent use.
type Image struct {
	content   Content
	root      ocispec.Descriptor
	index     object // nil where the root is a manifest
	children  []child
	platforms []*platform // without doubles, in the order of the index
	kind      Kind
	dir       string       // the labelled directory of a catalog, "configs"
	caches    []string     // directories of opm's cache, "tmp/cache"
	database  string       // the labelled file of an SQLite index, "database/index.db"
	trees     []bundleTree // the labelled directories of a bundle
	// listings tell what a layer holds, by its diff ID. A layer that was not
	// read has none.
	listings map[digest.Digest]*listing
}

// A child is one line of an index, with the platform that it names; nil where
// it is no image that runs, such as an attestation.
type child struct {
	object   object
	platform *platform
}

// limits on what an image may make a reader hold in memory
const (
	maxConfig    = 32 << 20
	maxPlatforms = 64
)

// Open reads the manifests and configs of the image that desc names: an OCI
// index, a docker manifest list, or a single manifest of either family.
// Attestations and other children that do not run are passed over. Kind tells
// what was opened.
//
// The error is ErrNoCatalog (by errors.Is) for an image that is neither a
// catalog nor a bundle.
func Open(ctx context.Context, content Content, desc ocispec.Descriptor) (*Image, error) {
	img, err := open(ctx, content, desc)
	if err != nil {
		return nil, fmt.Errorf("opening catalog image %s: %w", desc.Digest, err)
	}
	return img, nil
}

func open(ctx context.Context, content Content, desc ocispec.Descriptor) (*Image, error) {
	img, err := openPlatforms(ctx, content, desc)
	if err != nil {
		return nil, err
	}
	if err := img.readLabels(); err != nil {
		return nil, err
	}
	return img, nil
}

// openPlatforms reads the manifests and configs of an image, whatever is in it.
func openPlatforms(ctx context.Context, content Content, desc ocispec.Descriptor) (*Image, error) {
	root, err := readManifest(ctx, content, &desc)
	if err != nil {
		return nil, err
	}
	img := &Image{content: content, root: desc, listings: map[digest.Digest]*listing{}}
	switch {
	case manifest.IsIndex(desc.MediaType):
		img.index = root
		if err := img.readChildren(ctx); err != nil {
			return nil, err
		}
	case manifest.IsImage(desc.MediaType):
		p, err := readPlatform(ctx, content, desc, root)
		if err != nil {
			return nil, err
		}
		if p == nil {
			return nil, fmt.Errorf("%w: it is no container image but an artifact", ErrNoCatalog)
		}
		img.platforms = []*platform{p}
	default:
		return nil, fmt.Errorf("%w: media type %q is no image", ErrNoCatalog, desc.MediaType)
	}
	return img, nil
}

// readChildren reads the manifests that the index names, all at once.
func (i *Image) readChildren(ctx context.Context) error {
	var lines []json.RawMessage
	if err := i.index.field("manifests", &lines); err != nil {
		return err
	}
	i.children = make([]child, len(lines))
	descs := make([]ocispec.Descriptor, len(lines))
	first := map[digest.Digest]int{} // the child that is read, where several name one manifest
	for n, line := range lines {
		if err := json.Unmarshal(line, &descs[n]); err != nil {
			return fmt.Errorf("reading manifest %d of the index: %w", n+1, err)
		}
		var err error
		if i.children[n].object, err = decodeObject(line); err != nil {
			return fmt.Errorf("reading manifest %d of the index: %w", n+1, err)
		}
		if _, ok := first[descs[n].Digest]; !ok && !isAttestation(descs[n]) {
			first[descs[n].Digest] = n
		}
	}
	if len(first) > maxPlatforms {
		return fmt.Errorf("the index names %d images, more than the %d that are read", len(first), maxPlatforms)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for _, n := range first {
		g.Go(func() error {
			p, err := readChild(ctx, i.content, descs[n])
			if err != nil {
				return fmt.Errorf("reading manifest %s: %w", descs[n].Digest, err)
			}
			i.children[n].platform = p
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for n, desc := range descs {
		at, ok := first[desc.Digest]
		if !ok || isAttestation(desc) {
			continue
		}
		i.children[n].platform = i.children[at].platform
		if p := i.children[n].platform; p != nil && n == at {
			i.platforms = append(i.platforms, p)
		}
	}
	if len(i.platforms) == 0 {
		return fmt.Errorf("%w: the index names no container image", ErrNoCatalog)
	}
	return nil
}

// primary is the platform whose catalog is read: linux/amd64, or the first.
func (i *Image) primary() *platform {
	for _, p := range i.platforms {
		if p.os == "linux" && p.architecture == "amd64" {
			return p
		}
	}
	return i.platforms[0]
}

// others are the platforms but the primary.
func (i *Image) others() []*platform {
	primary := i.primary()
	var others []*platform
	for _, p := range i.platforms {
		if p != primary {
			others = append(others, p)
		}
	}
	return others
}
