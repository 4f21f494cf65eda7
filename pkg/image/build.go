package image

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Built is an image that was built.
type Built struct {
	// Root is the index or manifest of the image.
	Root ocispec.Descriptor
	// New are the blobs and manifests that were written to the store, each once and after everything
	// that it refers to: Root is the last.
	New []ocispec.Descriptor
	// Source are the layers of the source image that the new one has, too, each once.
	Source []ocispec.Descriptor
	// Dropped are the layers of the source image that the new one does not have, each once.
	Dropped []ocispec.Descriptor
}

// A Change describes what changes for a platform beside the new layer.
type Change struct {
	// Drop reports whether a layer of the source image is left out. nil drops none.
	Drop func(diffID digest.Digest) bool
	// Command is what the image then runs.
	Command Command
	// Labels are labels with new values.
	Labels map[string]string
	// By is what the history says about the new layer.
	By string
}

// builder collects what is written.
type builder struct {
	store Store
	built Built
	seen  map[digest.Digest]bool
}

func newBuilder(store Store) *builder {
	return &builder{store: store, seen: map[digest.Digest]bool{}}
}

// Rebuild writes the image to store with a layer on top of each platform. Each platform keeps its
// layers except for those that are dropped, its config except for command, history and diff IDs, and
// its position in the index. Attestations are left out: they describe other manifests. Layers that
// stay are not written. The same input gives the same digests.
func (i *Image) Rebuild(ctx context.Context, store Store, l *Layer, changed func(*Platform) Change) (*Built, error) {
	b := newBuilder(store)
	layer, diffID, err := l.write(ctx, store, layerType(i.Platforms[0].Descriptor.MediaType))
	if err != nil {
		return nil, err
	}
	b.wrote(layer)
	manifests := make(map[*Platform]ocispec.Descriptor, len(i.Platforms))
	for _, p := range i.Platforms {
		layer.MediaType = layerType(p.Descriptor.MediaType)
		if manifests[p], err = b.buildPlatform(ctx, p, changed(p), layer, diffID); err != nil {
			return nil, fmt.Errorf("platform %s: %w", p, err)
		}
	}
	if i.index == nil {
		b.built.Root = manifests[i.Platforms[0]]
		return &b.built, nil
	}
	if b.built.Root, err = b.buildIndex(ctx, i, manifests); err != nil {
		return nil, err
	}
	return &b.built, nil
}

// Scratch writes an OCI index to store whose images have the given config and nothing but the one
// layer, one for each platform.
func Scratch(ctx context.Context, store Store, l *Layer, config ocispec.ImageConfig, platforms []ocispec.Platform) (*Built, error) {
	b := newBuilder(store)
	layer, diffID, err := l.write(ctx, store, ocispec.MediaTypeImageLayerGzip)
	if err != nil {
		return nil, err
	}
	b.wrote(layer)
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, platform := range platforms {
		config, err := b.write(ctx, ocispec.MediaTypeImageConfig, ocispec.Image{
			Platform: platform,
			Config:   config,
			RootFS:   ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{diffID}},
		})
		if err != nil {
			return nil, err
		}
		manifest, err := b.write(ctx, ocispec.MediaTypeImageManifest, ocispec.Manifest{
			Versioned: specs.Versioned{SchemaVersion: 2},
			MediaType: ocispec.MediaTypeImageManifest,
			Config:    config,
			Layers:    []ocispec.Descriptor{layer},
		})
		if err != nil {
			return nil, err
		}
		manifest.Platform = &platform
		index.Manifests = append(index.Manifests, manifest)
	}
	if b.built.Root, err = b.write(ctx, ocispec.MediaTypeImageIndex, index); err != nil {
		return nil, err
	}
	return &b.built, nil
}

// buildPlatform writes the config and the manifest of a platform.
func (b *builder) buildPlatform(ctx context.Context, p *Platform, c Change, layer ocispec.Descriptor, diffID digest.Digest) (ocispec.Descriptor, error) {
	var lines []json.RawMessage
	if err := p.Manifest.Field("layers", &lines); err != nil {
		return ocispec.Descriptor{}, err
	}
	drop := make([]bool, len(lines))
	kept := []json.RawMessage{}
	for n := range lines {
		if drop[n] = c.Drop != nil && c.Drop(p.DiffIDs[n]); drop[n] {
			b.built.Dropped = appendOnce(b.built.Dropped, p.Layers[n])
			continue
		}
		kept = append(kept, lines[n])
		b.built.Source = appendOnce(b.built.Source, p.Layers[n])
	}
	line, err := encode(layer)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	config, err := p.rebuiltConfig(drop, diffID, c)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	old, err := p.Manifest.Object("config")
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	var configType string
	if err := old.Field("mediaType", &configType); err != nil {
		return ocispec.Descriptor{}, err
	}
	desc, err := b.write(ctx, configType, config)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if old, err = pointAt(old, desc); err != nil {
		return ocispec.Descriptor{}, err
	}
	manifest, err := p.Manifest.With("config", old)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if manifest, err = manifest.With("layers", append(kept, line)); err != nil {
		return ocispec.Descriptor{}, err
	}
	return b.write(ctx, p.Descriptor.MediaType, manifest)
}

// buildIndex writes the index of the new manifests.
func (b *builder) buildIndex(ctx context.Context, source *Image, manifests map[*Platform]ocispec.Descriptor) (ocispec.Descriptor, error) {
	lines := []Object{}
	for _, c := range source.children {
		if c.platform == nil {
			continue
		}
		line, err := pointAt(c.line, manifests[c.platform])
		if err != nil {
			return ocispec.Descriptor{}, err
		}
		lines = append(lines, line)
	}
	index, err := source.index.With("manifests", lines)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return b.write(ctx, source.Root.MediaType, index)
}

// pointAt returns a descriptor for other content. All other fields stay.
func pointAt(o Object, desc ocispec.Descriptor) (Object, error) {
	o, err := o.Without("data").With("digest", desc.Digest)
	if err != nil {
		return nil, err
	}
	return o.With("size", desc.Size)
}

// write writes an object to the store.
func (b *builder) write(ctx context.Context, mediaType string, v any) (ocispec.Descriptor, error) {
	data, err := encode(v)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	desc, err := b.store.Write(ctx, mediaType, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("writing the %s: %w", mediaType, err)
	}
	desc.MediaType = mediaType
	b.wrote(desc)
	return desc, nil
}

func (b *builder) wrote(desc ocispec.Descriptor) {
	if !b.seen[desc.Digest] {
		b.seen[desc.Digest] = true
		b.built.New = append(b.built.New, desc)
	}
}

// appendOnce appends a descriptor unless its digest is already present.
func appendOnce(descs []ocispec.Descriptor, desc ocispec.Descriptor) []ocispec.Descriptor {
	if slices.ContainsFunc(descs, func(d ocispec.Descriptor) bool { return d.Digest == desc.Digest }) {
		return descs
	}
	return append(descs, desc)
}
