package image

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// The labeled directory, and what is in it, may be links to other parts of the image: opm follows
// them. Only then, all names of the image are listed.

// resolveDir replaces the labeled directory, which is a symbolic link or below one, by the directory
// that it leads to. That must be the same for all platforms.
func (i *Image) resolveDir(ctx context.Context, left *layers.Budget) error {
	dir := ""
	for _, p := range append([]*image.Platform{i.image.Primary()}, i.image.Others()...) {
		v, err := i.image.View(ctx, p, left)
		if err != nil {
			return fmt.Errorf("platform %s: %w", p, err)
		}
		at, err := v.Directory(i.dir)
		switch {
		case err != nil:
			return fmt.Errorf("platform %s: /%s, the directory in label %s: %w", p, i.dir, ConfigsLabel, err)
		case at == "":
			return fmt.Errorf("platform %s: /%s, the directory in label %s, leads to the root directory; the catalog needs its own directory", p, i.dir, ConfigsLabel)
		case dir != "" && at != dir:
			return fmt.Errorf("the platforms have different catalogs: /%s leads to /%s for %s and to /%s for %s", i.dir, dir, i.image.Primary(), at, p)
		}
		dir = at
	}
	i.labeled, i.dir = i.dir, dir
	i.findCaches()
	return nil
}

// readCatalogLinks calls file with the content of links in the catalog's directory.
func (i *Image) readCatalogLinks(ctx context.Context, v *image.View, file func(string, io.Reader) error, left *layers.Budget) error {
	l := image.Links{Inside: i.dir, Names: map[string][]string{}}
	for _, name := range v.Links() {
		if name == i.dir || !image.IsBelow(name, i.dir) {
			return fmt.Errorf("/%s, the directory in label %s, is not a directory, or is below something that is not one", i.dir, ConfigsLabel)
		}
		l.Names[name] = []string{name[len(i.dir)+1:]}
	}
	err := i.image.ReadLinks(ctx, i.image.Primary(), v, l, file, left)
	if errors.Is(err, image.ErrOutside) {
		l.Inside = ""
		return i.readOutside(ctx, l, file, left)
	}
	return err
}

// readOutside calls file with the content of links to any part of the image. It compares the content
// with the content of the other platforms, since views of the directory do not.
func (i *Image) readOutside(ctx context.Context, l image.Links, file func(string, io.Reader) error, left *layers.Budget) error {
	first := i.image.Primary()
	want, err := i.linkSums(ctx, first, l, file, left)
	if err != nil {
		return err
	}
	for _, p := range i.image.Others() {
		got, err := i.linkSums(ctx, p, l, func(string, io.Reader) error { return nil }, left)
		if err != nil {
			return fmt.Errorf("platform %s: %w", p, err)
		}
		if !maps.Equal(want, got) {
			return fmt.Errorf("the platforms have different catalogs: links in /%s lead to different files for %s and %s", i.dir, first, p)
		}
	}
	return nil
}

// linkSums calls file with the content of links of a platform, and returns the checksums.
func (i *Image) linkSums(ctx context.Context, p *image.Platform, l image.Links, file func(string, io.Reader) error, left *layers.Budget) (map[string]string, error) {
	v, err := i.image.View(ctx, p, left)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	return sums, i.image.ReadLinks(ctx, p, v, l, func(name string, r io.Reader) error {
		h := sha256.New()
		summed := io.TeeReader(r, h)
		if err := file(name, summed); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, summed); err != nil {
			return err
		}
		sums[name] = string(h.Sum(nil))
		return nil
	}, left)
}
