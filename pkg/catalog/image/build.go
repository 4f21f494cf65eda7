package image

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/image"
)

// Built is a catalog image that was built.
type Built struct {
	image.Built
	// Directory is the directory of the catalog, "/configs".
	Directory string
	// BinaryLess reports whether the image has no program. A CatalogSource then needs
	// grpcPodConfig.extractContent.catalogDir: Directory.
	BinaryLess bool
	// Warnings are sentences for the administrator.
	Warnings []string
}

// Build writes the source image to store, with catalog c instead of its own. The catalog of source
// should have been read: Build assumes that layers which were not read have old catalog files, so
// that an image which was only opened gives a correct result that is larger than necessary.
//
// Each platform keeps its layers except for those that are CatalogOnly, its config except for history,
// diff IDs and the cache flags of opm, and its position in the index. Attestations are left out: they
// describe other manifests. Layers that stay are not written.
func Build(ctx context.Context, store image.Store, source *Image, c *catalog.Catalog) (*Built, error) {
	if err := source.mustBeFileBased(); err != nil {
		return nil, fmt.Errorf("rebuilding catalog image %s: %w", source.image.Root.Digest, err)
	}
	files, err := filesOf(c)
	if err != nil {
		return nil, fmt.Errorf("rebuilding catalog image %s: %w", source.image.Root.Digest, err)
	}
	built, err := build(ctx, store, source, files)
	if err != nil {
		return nil, fmt.Errorf("rebuilding catalog image %s: %w", source.image.Root.Digest, err)
	}
	return built, nil
}

// filesOf returns the files of a catalog by their paths below its directory.
func filesOf(c *catalog.Catalog) (map[string]image.File, error) {
	files, err := catalog.Files(c)
	if err != nil {
		return nil, err
	}
	all := make(map[string]image.File, len(files))
	for _, f := range files {
		all[f.Path] = f
	}
	return all, nil
}

func build(ctx context.Context, store image.Store, source *Image, files map[string]image.File) (*Built, error) {
	l, err := source.newLayer(files)
	if err != nil {
		return nil, err
	}
	result := &Built{Directory: "/" + source.dir}
	built, err := source.image.Rebuild(ctx, store, l, func(p *image.Platform) image.Change {
		c, warning := command(p.Command).rebuilt(result.Directory, "/"+cmp.Or(source.labeled, source.dir), p.WorkingDir)
		result.BinaryLess = result.BinaryLess || len(c.argv()) == 0
		if warning != "" {
			result.Warnings = append(result.Warnings, p.String()+": "+warning)
		}
		change := image.Change{Drop: source.drops, Command: image.Command(c), By: strings.TrimPrefix(builtBy, "gantry: ") + result.Directory}
		if source.labeled != "" {
			// catalogd does not follow symbolic links out of the directory.
			change.Labels = map[string]string{ConfigsLabel: result.Directory}
		}
		return change
	})
	if err != nil {
		return nil, err
	}
	result.Built = *built
	return result, nil
}

// drops reports whether a layer has nothing but the old catalog and its cache.
func (i *Image) drops(diffID digest.Digest) bool { return verdict(i.listings[diffID]) == CatalogOnly }

// newLayer returns the layer that all platforms get.
func (i *Image) newLayer(files map[string]image.File) (*image.Layer, error) {
	l := image.NewLayer()
	l.AddDirectory(i.dir, i.attributes)
	for name, f := range files {
		if err := l.AddFile(i.dir, name, f); err != nil {
			return nil, err
		}
	}
	for _, dir := range append([]string{i.dir}, i.caches...) {
		if i.mayRemain(dir) {
			l.AddDirectory(dir, i.attributes)
			l.Hide(dir)
		}
	}
	if i.losesTmp() {
		l.AddDirectory("tmp", i.attributes)
	}
	return l, nil
}

// mayRemain reports whether a layer that stays has something in dir.
func (i *Image) mayRemain(dir string) bool {
	for _, p := range i.image.Platforms {
		for _, id := range p.DiffIDs {
			found := i.listings[id]
			if v := verdict(found); v == Unread || v == Mixed && found.Touches[dir] {
				return true
			}
		}
	}
	return false
}

// losesTmp reports whether only layers that are dropped have /tmp, as in an image without base. opm
// needs it for its cache. Layers that were not read, the base layers of other platforms, are assumed
// to be like those of the first.
func (i *Image) losesTmp() bool {
	dropped := false
	for _, id := range i.image.Primary().DiffIDs {
		found := i.listings[id]
		switch v := verdict(found); {
		case v == Unread, v != CatalogOnly && found.Tmp:
			return false
		case v == CatalogOnly && found.Tmp:
			dropped = true
		}
	}
	return dropped
}

// attributes returns the attributes that the first platform has for a directory above the catalog or
// the cache.
func (i *Image) attributes(dir string) (image.Attributes, bool) {
	p := i.image.Primary()
	for _, layer := range p.TopDown() {
		if found := i.listings[p.DiffIDs[layer]]; found != nil {
			if a, ok := found.Directories[dir]; ok {
				return a, true
			}
		}
	}
	return image.Attributes{}, false
}
