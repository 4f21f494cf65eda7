package image

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Built is a catalog image that was built.
type Built struct {
	// Root is the index or manifest that stands for the image.
	Root ocispec.Descriptor
	// New are the blobs and manifests that were written to the store, each
	// once and after what it refers to: Root is the last.
	New []ocispec.Descriptor
	// Source are the layers that are taken from the source image, each once.
	Source []ocispec.Descriptor
	// Dropped are the layers of the source image that the new one lacks, each
	// once.
	Dropped []ocispec.Descriptor
	// Directory is where the catalog is, "/configs".
	Directory string
	// BinaryLess says that the image has no program. A CatalogSource must then
	// have grpcPodConfig.extractContent.catalogDir: Directory.
	BinaryLess bool
	// Warnings are sentences for the person who runs the mirror.
	Warnings []string
}

// builder collects what is written.
type builder struct {
	store Store
	built *Built
	seen  map[digest.Digest]bool
}

// Build writes the source image to store, with catalog c in place of its own.
// Source is an Image whose catalog was read; of layers that were not, it
// assumes that they hold old catalog files, so an image that was only opened
// comes out right but not slim.
//
// Each platform keeps its layers but those with the verdict CatalogOnly, its
// config but for history, diff IDs and the cache flags of opm, and its place in
// the index. Attestations are left out: they are about other manifests. Kept
// layers are not written.
func Build(ctx context.Context, store Store, source *Image, c *catalog.Catalog) (*Built, error) {
	if err := source.mustBeFileBased(); err != nil {
		return nil, fmt.Errorf("rebuilding catalog image %s: %w", source.root.Digest, err)
	}
	files, err := catalog.Files(c)
	if err != nil {
		return nil, fmt.Errorf("rebuilding catalog image %s: %w", source.root.Digest, err)
	}
	contents := make(map[string]content, len(files))
	for _, f := range files {
		contents[f.Path] = f
	}
	built, err := build(ctx, store, source, contents)
	if err != nil {
		return nil, fmt.Errorf("rebuilding catalog image %s: %w", source.root.Digest, err)
	}
	return built, nil
}

func build(ctx context.Context, store Store, source *Image, files map[string]content) (*Built, error) {
	b := &builder{store: store, built: &Built{Directory: "/" + source.dir}, seen: map[digest.Digest]bool{}}
	return b.build(ctx, source, files, func(p *platform) change {
		command, warning := p.command.rebuilt(b.built.Directory, p.workingDir)
		b.built.BinaryLess = b.built.BinaryLess || len(command.argv()) == 0
		if warning != "" {
			b.built.Warnings = append(b.built.Warnings, p.String()+": "+warning)
		}
		return change{command: command, by: "catalog in " + b.built.Directory}
	})
}

// A change is what becomes of a platform's config beside the layers: the command
// that it has then, and what its history says of the new layer.
type change struct {
	command command
	by      string
}

// build writes the source image with the files in a layer of their own, and each
// platform changed.
func (b *builder) build(ctx context.Context, source *Image, files map[string]content, changed func(*platform) change) (*Built, error) {
	l, err := source.newLayer(files)
	if err != nil {
		return nil, err
	}
	layer, diffID, err := l.write(ctx, b.store, layerType(source.platforms[0].desc.MediaType))
	if err != nil {
		return nil, err
	}
	b.wrote(layer)
	manifests := make(map[*platform]ocispec.Descriptor, len(source.platforms))
	for _, p := range source.platforms {
		layer.MediaType = layerType(p.desc.MediaType)
		if manifests[p], err = b.buildPlatform(ctx, source, p, changed(p), layer, diffID); err != nil {
			return nil, fmt.Errorf("platform %s: %w", p, err)
		}
	}
	if source.index == nil {
		b.built.Root = manifests[source.platforms[0]]
		return b.built, nil
	}
	b.built.Root, err = b.buildIndex(ctx, source, manifests)
	if err != nil {
		return nil, err
	}
	return b.built, nil
}

// newLayer lays out the layer that all platforms get.
func (i *Image) newLayer(files map[string]content) (*newLayer, error) {
	l := newNewLayer()
	l.addDirectory(i.dir, i.above)
	for name, c := range files {
		if err := l.addFile(i.dir, name, c); err != nil {
			return nil, err
		}
	}
	for _, dir := range append([]string{i.dir}, i.caches...) {
		if i.mayRemain(dir) {
			l.addDirectory(dir, i.above)
			l.opaque[dir] = true
		}
	}
	if i.lacksTmp() {
		l.addDirectory("tmp", i.above)
	}
	return l, nil
}

// mayRemain says whether a layer that stays has something in dir.
func (i *Image) mayRemain(dir string) bool {
	for _, p := range i.platforms {
		for _, id := range p.diffIDs {
			found := i.listings[id]
			if v := found.verdict(); v == Unread || v == Mixed && found.touches[dir] {
				return true
			}
		}
	}
	return false
}

// lacksTmp says whether a layer that goes took /tmp with it, as in an image
// that starts from nothing. Layers that were not read, the base layers of other
// platforms, are taken to be like those of the first.
func (i *Image) lacksTmp() bool {
	p := i.primary()
	dropped := false
	for _, id := range p.diffIDs {
		found := i.listings[id]
		switch v := found.verdict(); {
		case v == Unread, v != CatalogOnly && found.tmp:
			return false
		case v == CatalogOnly && found.tmp:
			dropped = true
		}
	}
	return dropped
}

// above are the attributes of a directory above the catalog's or the cache's,
// as the first platform has them.
func (i *Image) above(dir string) attributes {
	if dir == "tmp" {
		return sticky
	}
	for _, layer := range topDown(i.primary()) {
		if found := i.listings[i.primary().diffIDs[layer]]; found != nil {
			if a, ok := found.directories[dir]; ok {
				return a
			}
		}
	}
	return ordinary
}

// buildPlatform writes the config and the manifest of a platform.
func (b *builder) buildPlatform(ctx context.Context, source *Image, p *platform, c change, layer ocispec.Descriptor, diffID digest.Digest) (ocispec.Descriptor, error) {
	var lines []json.RawMessage
	if err := p.manifest.field("layers", &lines); err != nil {
		return ocispec.Descriptor{}, err
	}
	drop := make([]bool, len(lines))
	kept := []json.RawMessage{}
	for n := range lines {
		if drop[n] = source.listings[p.diffIDs[n]].verdict() == CatalogOnly; drop[n] {
			b.built.Dropped = b.once(b.built.Dropped, p.layers[n])
			continue
		}
		kept = append(kept, lines[n])
		b.built.Source = b.once(b.built.Source, p.layers[n])
	}
	line, err := encode(layer)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	config, err := p.rebuiltConfig(drop, diffID, c)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	old, err := p.manifest.object("config")
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	var configType string
	if err := old.field("mediaType", &configType); err != nil {
		return ocispec.Descriptor{}, err
	}
	desc, err := b.write(ctx, configType, config)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if old, err = pointAt(old, desc); err != nil {
		return ocispec.Descriptor{}, err
	}
	manifest, err := p.manifest.with("config", old)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if manifest, err = manifest.with("layers", append(kept, line)); err != nil {
		return ocispec.Descriptor{}, err
	}
	return b.write(ctx, p.desc.MediaType, manifest)
}

// buildIndex writes the index of the new manifests.
func (b *builder) buildIndex(ctx context.Context, source *Image, manifests map[*platform]ocispec.Descriptor) (ocispec.Descriptor, error) {
	lines := []object{}
	for _, c := range source.children {
		if c.platform == nil {
			continue
		}
		line, err := pointAt(c.object, manifests[c.platform])
		if err != nil {
			return ocispec.Descriptor{}, err
		}
		lines = append(lines, line)
	}
	index, err := source.index.with("manifests", lines)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return b.write(ctx, source.root.MediaType, index)
}

// pointAt returns a descriptor for other content, with all else as it was.
func pointAt(o object, desc ocispec.Descriptor) (object, error) {
	o, err := o.without("data").with("digest", desc.Digest)
	if err != nil {
		return nil, err
	}
	return o.with("size", desc.Size)
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

// once appends a descriptor unless its content is there.
func (b *builder) once(descs []ocispec.Descriptor, desc ocispec.Descriptor) []ocispec.Descriptor {
	if slices.ContainsFunc(descs, func(d ocispec.Descriptor) bool { return d.Digest == desc.Digest }) {
		return descs
	}
	return append(descs, desc)
}
