package image

import (
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// scratchDir is where an image without a source has its catalog.
const scratchDir = "configs"

// Scratch writes an image to store that has no source: catalog c in /configs
// and nothing else, as an OCI index for the Linux platforms of OpenShift, which
// share the one layer.
func Scratch(ctx context.Context, store Store, c *catalog.Catalog) (*Built, error) {
	files, err := catalog.Files(c)
	if err != nil {
		return nil, fmt.Errorf("building a catalog image: %w", err)
	}
	contents := make(map[string]content, len(files))
	for _, f := range files {
		contents[f.Path] = f
	}
	built, err := scratch(ctx, store, contents)
	if err != nil {
		return nil, fmt.Errorf("building a catalog image: %w", err)
	}
	return built, nil
}

func scratch(ctx context.Context, store Store, files map[string]content) (*Built, error) {
	b := &builder{
		store: store,
		built: &Built{Directory: "/" + scratchDir, BinaryLess: true},
		seen:  map[digest.Digest]bool{},
	}
	l := newNewLayer()
	l.addDirectory(scratchDir, func(string) attributes { return ordinary })
	for name, c := range files {
		if err := l.addFile(scratchDir, name, c); err != nil {
			return nil, err
		}
	}
	layer, diffID, err := l.write(ctx, store, ocispec.MediaTypeImageLayerGzip)
	if err != nil {
		return nil, err
	}
	b.wrote(layer)
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, architecture := range []string{"amd64", "arm64", "ppc64le", "s390x"} {
		platform := ocispec.Platform{OS: "linux", Architecture: architecture}
		config, err := b.write(ctx, ocispec.MediaTypeImageConfig, ocispec.Image{
			Platform: platform,
			Config:   ocispec.ImageConfig{Labels: map[string]string{ConfigsLabel: "/" + scratchDir}},
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
	return b.built, nil
}
