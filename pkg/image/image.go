package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// ErrNotImage is the error of Open for a manifest that is not a container image.
var ErrNotImage = errors.New("not a container image")

// An Image is what the manifests and configs of an image say. It is not changed by reading layers,
// and safe for concurrent use.
type Image struct {
	// Root is the descriptor of the index or manifest.
	Root ocispec.Descriptor
	// Platforms are the images of the index, each once and in its order, or the only image. There is
	// at least one.
	Platforms []*Platform

	reader   Reader
	source   string
	index    Object // nil if the root is a manifest
	children []child
}

// A child is one line of an index and its platform, which is nil for what does not run, such as an
// attestation.
type child struct {
	line     Object
	platform *Platform
}

// Limits on the memory that an image can use.
const (
	maxConfig    = 32 << 20
	maxPlatforms = 64
)

// Open reads the manifests and configs of the image desc: an OCI index, a Docker manifest list, or a
// single manifest of either family. Attestations and other children that do not run are skipped. The
// error matches ErrNotImage if nothing remains.
func Open(ctx context.Context, r Reader, source string, desc ocispec.Descriptor) (*Image, error) {
	i := &Image{reader: r, source: source}
	root, err := i.readManifest(ctx, &desc)
	if err != nil {
		return nil, err
	}
	i.Root = desc
	switch {
	case manifest.IsIndex(desc.MediaType):
		i.index = root
		if err := i.readChildren(ctx); err != nil {
			return nil, err
		}
	case manifest.IsImage(desc.MediaType):
		p, err := i.readPlatform(ctx, desc, root)
		if err != nil {
			return nil, err
		}
		if p == nil {
			return nil, fmt.Errorf("%w but an artifact", ErrNotImage)
		}
		i.Platforms = []*Platform{p}
	default:
		return nil, fmt.Errorf("%w: it has the media type %q", ErrNotImage, desc.MediaType)
	}
	return i, nil
}

// readChildren reads the manifests of the index concurrently.
func (i *Image) readChildren(ctx context.Context) error {
	var lines []json.RawMessage
	if err := i.index.Field("manifests", &lines); err != nil {
		return err
	}
	i.children = make([]child, len(lines))
	descs := make([]ocispec.Descriptor, len(lines))
	first := map[digest.Digest]int{} // the line that is read if several have the same manifest
	for n, line := range lines {
		if err := json.Unmarshal(line, &descs[n]); err != nil {
			return fmt.Errorf("reading manifest %d of the index: %w", n+1, err)
		}
		var err error
		if i.children[n].line, err = DecodeObject(line); err != nil {
			return fmt.Errorf("reading manifest %d of the index: %w", n+1, err)
		}
		if _, ok := first[descs[n].Digest]; !ok && !isAttestation(descs[n]) {
			first[descs[n].Digest] = n
		}
	}
	if len(first) > maxPlatforms {
		return fmt.Errorf("the index has %d images, more than the limit of %d", len(first), maxPlatforms)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for _, n := range first {
		g.Go(func() error {
			p, err := i.readChild(ctx, descs[n])
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
			i.Platforms = append(i.Platforms, p)
		}
	}
	if len(i.Platforms) == 0 {
		return fmt.Errorf("%w: the index has no image that runs", ErrNotImage)
	}
	return nil
}

// Primary returns the platform whose files are read: linux/amd64, or the first one.
func (i *Image) Primary() *Platform {
	for _, p := range i.Platforms {
		if p.OS == "linux" && p.Architecture == "amd64" {
			return p
		}
	}
	return i.Platforms[0]
}

// Others returns all platforms but the primary one.
func (i *Image) Others() []*Platform {
	primary := i.Primary()
	return elements.Filter(i.Platforms, func(p *Platform) bool { return p != primary })
}

// join returns an OCI index of the platforms of both images. Its layers cannot be read.
func (i *Image) join(other *Image) (*Image, error) {
	all := &Image{Root: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: i.Root.Digest}}
	for _, p := range slices.Concat(i.Platforms, other.Platforms) {
		if slices.ContainsFunc(all.Platforms, func(o *Platform) bool { return o.String() == p.String() }) {
			continue
		}
		line, err := encode(ocispec.Descriptor{
			MediaType: p.Descriptor.MediaType, Digest: p.Descriptor.Digest, Size: p.Descriptor.Size,
			Platform: &ocispec.Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant},
		})
		if err != nil {
			return nil, err
		}
		o, err := DecodeObject(line)
		if err != nil {
			return nil, err
		}
		all.Platforms, all.children = append(all.Platforms, p), append(all.children, child{o, p})
	}
	var err error
	all.index, err = Object{"schemaVersion": json.RawMessage("2")}.With("mediaType", all.Root.MediaType)
	return all, err
}
