package image

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// streams is how many layers are read concurrently.
const streams = 4

// Read reads the catalog below the labeled directory, as the layers of linux/amd64 (or of the first
// platform) leave it. It is an error if other platforms have another catalog. Memory does not grow with
// the layers.
//
// Every layer of the platform is read once, a second time only if a catalog file is a link. Of the
// other platforms, only layers that the first does not have are read, from the top down until they
// have shown the same catalog. The layers below stay Unread, and Build hides what they have in the
// catalog's directory.
func (i *Image) Read(ctx context.Context, opts catalog.Options) (*catalog.Catalog, error) {
	if err := i.mustBeFileBased(); err != nil {
		return nil, fmt.Errorf("reading the catalog of image %s: %w", i.image.Root.Digest, err)
	}
	r := catalog.NewReader(opts)
	if _, err := i.survey(ctx, r.File, layers.MaxUnpacked); err != nil {
		return nil, fmt.Errorf("reading the catalog of image %s: %w", i.image.Root.Digest, err)
	}
	c, err := r.Catalog()
	if err != nil {
		return nil, fmt.Errorf("reading the catalog of image %s: %w", i.image.Root.Digest, err)
	}
	return c, nil
}

// survey calls file with the files of the catalog, by their paths below its directory, and lists the
// layers. If the labeled directory is a symbolic link, it follows it first. It returns the catalog's directory as the first platform has it.
func (i *Image) survey(ctx context.Context, file func(string, io.Reader) error, most int64) (*image.View, error) {
	i.listings = map[digest.Digest]*image.Listing{}
	left := layers.NewBudget(most)
	first := i.image.Primary()
	v, err := i.readLayers(ctx, first, file, left)
	if err != nil {
		return nil, fmt.Errorf("platform %s: %w", first, err)
	}
	if i.labeled == "" && v.Linked(i.dir) { // so it has no files yet
		if err := i.resolveDir(ctx, left); err != nil {
			return nil, err
		}
		return i.survey(ctx, file, most)
	}
	if err := i.readCatalogLinks(ctx, v, file, left); err != nil {
		return nil, fmt.Errorf("platform %s: %w", first, err)
	}
	if v.Len() == 0 {
		return nil, fmt.Errorf("there is no file below /%s, the directory in label %s", i.dir, ConfigsLabel)
	}
	return v, i.compare(ctx, v, left)
}

// readLayers reads the layers of a platform concurrently: a layer waits for those above it only when it
// has a file of the catalog, since they decide whether it is visible.
func (i *Image) readLayers(ctx context.Context, p *image.Platform, file func(string, io.Reader) error, left *layers.Budget) (*image.View, error) {
	order := p.TopDown()
	found := make([]*image.Listing, len(order))
	turns := make([]chan struct{}, len(order)+1)
	for n := range turns {
		turns[n] = make(chan struct{})
	}
	close(turns[0])
	v := image.NewView()
	sums := i.needSums()
	g, ctx := errgroup.WithContext(ctx)
	// A layer starts only after all layers above it, so that the one that others wait for always
	// runs.
	g.SetLimit(streams)
	for n, layer := range order {
		g.Go(func() error {
			l := &image.Lister{Dir: i.dir, Also: i.caches, Sums: sums, Budget: left}
			l.File = func(name string, r io.Reader) error {
				if err := wait(ctx, turns[n]); err != nil {
					return err
				}
				if !v.Shows(name) {
					return nil
				}
				return file(name[len(i.dir)+1:], r)
			}
			var err error
			if found[n], err = i.image.List(ctx, p, layer, l); err != nil {
				return err
			}
			if err := wait(ctx, turns[n]); err != nil {
				return err
			}
			v.Add(layer, found[n])
			close(turns[n+1])
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for n, layer := range order {
		i.listings[p.DiffIDs[layer]] = found[n]
	}
	return v, nil
}

func wait(ctx context.Context, turn <-chan struct{}) error {
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// needSums reports whether the catalogs of platforms have to be compared by content.
func (i *Image) needSums() bool {
	known := i.image.Primary().DiffIDs
	for _, p := range i.image.Others() {
		if slices.ContainsFunc(p.DiffIDs, func(id digest.Digest) bool { return !slices.Contains(known, id) }) {
			return true
		}
	}
	return false
}
