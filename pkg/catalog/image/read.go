package image

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/layers"
)

// streams is how many layers are read at a time.
const streams = 4

// Read reads the catalog below the labelled directory, as the layers of
// linux/amd64 (or of the first platform) leave it, and refuses an image whose
// other platforms carry another catalog. Memory does not grow with the layers.
//
// Every layer of the platform is read once, a second time only where a catalog
// file is a link. Of the other platforms only layers are read that the first
// lacks, from the top down to where they have shown the same catalog. What is
// still below stays Unread: whatever it holds in the catalog's directory, Build
// hides it.
func (i *Image) Read(ctx context.Context, opts catalog.Options) (*catalog.Catalog, error) {
	if err := i.mustBeFileBased(); err != nil {
		return nil, fmt.Errorf("reading the catalog of image %s: %w", i.root.Digest, err)
	}
	r := catalog.NewReader(opts)
	if _, err := i.survey(ctx, r.File, layers.MaxUnpacked); err != nil {
		return nil, fmt.Errorf("reading the catalog of image %s: %w", i.root.Digest, err)
	}
	c, err := r.Catalog()
	if err != nil {
		return nil, fmt.Errorf("reading the catalog of image %s: %w", i.root.Digest, err)
	}
	return c, nil
}

// survey gives the files of the catalog to file, by their paths below its
// directory, and lists the layers. It returns the catalog's directory as the
// first platform has it.
func (i *Image) survey(ctx context.Context, file func(string, io.Reader) error, most int64) (*view, error) {
	i.listings = map[digest.Digest]*listing{}
	left := layers.NewBudget(most)
	first := i.primary()
	v, err := i.readLayers(ctx, first, file, left)
	if err != nil {
		return nil, fmt.Errorf("platform %s: %w", first, err)
	}
	links, err := i.catalogLinks(v)
	if err == nil {
		err = i.readLinks(ctx, first, v, links, file, left)
	}
	if err != nil {
		return nil, fmt.Errorf("platform %s: %w", first, err)
	}
	files := 0
	for _, p := range v.visible {
		if p.kind != directory {
			files++
		}
	}
	if files == 0 {
		return nil, fmt.Errorf("there is no file below /%s, the directory that label %s names", i.dir, ConfigsLabel)
	}
	return v, i.compare(ctx, v, left)
}

// readLayers reads the layers of a platform, several at a time: a layer waits
// for those above it only when it has a file of the catalog, since they decide
// whether that is visible.
func (i *Image) readLayers(ctx context.Context, p *platform, file func(string, io.Reader) error, left *layers.Budget) (*view, error) {
	order := topDown(p)
	found := make([]*listing, len(order))
	turns := make([]chan struct{}, len(order)+1)
	for n := range turns {
		turns[n] = make(chan struct{})
	}
	close(turns[0])
	v := newView()
	sums := i.needSums()
	g, ctx := errgroup.WithContext(ctx)
	// A layer starts only after all layers above it: the one that the others
	// wait for is always among those that run.
	g.SetLimit(streams)
	for n, layer := range order {
		g.Go(func() error {
			l := &lister{dir: i.dir, caches: i.caches, sums: sums, left: left}
			l.file = func(name string, r io.Reader) error {
				if err := wait(ctx, turns[n]); err != nil {
					return err
				}
				if !v.shows(name, false) {
					return nil
				}
				return file(name[len(i.dir)+1:], r)
			}
			var err error
			if found[n], err = i.list(ctx, p, layer, l, left); err != nil {
				return err
			}
			if err := wait(ctx, turns[n]); err != nil {
				return err
			}
			v.add(layer, found[n])
			close(turns[n+1])
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for n, layer := range order {
		i.listings[p.diffIDs[layer]] = found[n]
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

// topDown gives the positions of a platform's layers, the uppermost first. A
// layer that occurs twice counts where it is uppermost: it hides all that its
// second occurrence could show.
func topDown(p *platform) []int {
	var order []int
	seen := map[digest.Digest]bool{}
	for n := len(p.layers) - 1; n >= 0; n-- {
		if id := p.diffIDs[n]; !seen[id] {
			seen[id] = true
			order = append(order, n)
		}
	}
	return order
}

// needSums says whether catalogs will have to be compared by content.
func (i *Image) needSums() bool {
	known := i.primary().diffIDs
	for _, p := range i.others() {
		for _, id := range p.diffIDs {
			if !slices.Contains(known, id) {
				return true
			}
		}
	}
	return false
}

// list reads one layer to its end and holds it against its diff ID.
func (i *Image) list(ctx context.Context, p *platform, layer int, l *lister, left *layers.Budget) (_ *listing, err error) {
	desc := p.layers[layer]
	defer func() {
		if err != nil {
			err = fmt.Errorf("layer %s: %w", desc.Digest, err)
		}
	}()
	if !layers.IsType(desc.MediaType) {
		return nil, fmt.Errorf("the media type %q is not one that can be read", desc.MediaType)
	}
	var found *listing
	sum, err := i.stream(ctx, desc, left, func(r io.Reader) error {
		var err error
		found, err = l.list(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	if sum != p.diffIDs[layer] {
		return nil, fmt.Errorf("it unpacks to %s, but the config says %s", sum, p.diffIDs[layer])
	}
	return found, nil
}

// stream unpacks a layer, has it read and returns the digest of the whole.
func (i *Image) stream(ctx context.Context, desc ocispec.Descriptor, left *layers.Budget, read func(io.Reader) error) (digest.Digest, error) {
	blob, err := i.content.Blob(ctx, desc)
	if err != nil {
		return "", err
	}
	return layers.Read(blob, left, read)
}
