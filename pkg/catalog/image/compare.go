package image

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// compare compares the catalogs of the other platforms with want, the catalog of the first.
func (i *Image) compare(ctx context.Context, want *image.View, left *layers.Budget) error {
	others := i.image.Others()
	if err := i.readTops(ctx, others, left); err != nil {
		return err
	}
	for _, p := range others {
		v := image.NewView()
		for _, layer := range p.TopDown() {
			id := p.DiffIDs[layer]
			if i.listings[id] == nil {
				if want.Differs(v) == "" {
					break
				}
				found, err := i.image.List(ctx, p, layer, i.comparing(left))
				if err != nil {
					return fmt.Errorf("platform %s: %w", p, err)
				}
				i.listings[id] = found
			}
			v.Add(layer, i.listings[id])
		}
		if name := want.Differs(v); name != "" {
			return fmt.Errorf("the platforms have different catalogs: /%s differs between %s and %s", name, i.image.Primary(), p)
		}
	}
	return nil
}

// readTops reads those layers of the platforms that are unknown and at the positions where the first
// platform has layers to drop.
func (i *Image) readTops(ctx context.Context, platforms []*image.Platform, left *layers.Budget) error {
	depth := 0
	first := i.image.Primary()
	for n, id := range first.DiffIDs {
		if len(i.listings[id].Touches) > 0 {
			depth = len(first.DiffIDs) - n
			break
		}
	}
	type job struct {
		p     *image.Platform
		layer int
		found *image.Listing
	}
	var jobs []*job
	known := map[string]bool{}
	for _, p := range platforms {
		for layer := max(0, len(p.Layers)-depth); layer < len(p.Layers); layer++ {
			id := p.DiffIDs[layer]
			if i.listings[id] == nil && !known[id.String()] {
				known[id.String()] = true
				jobs = append(jobs, &job{p: p, layer: layer})
			}
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(streams)
	for _, j := range jobs {
		g.Go(func() (err error) {
			if j.found, err = i.image.List(ctx, j.p, j.layer, i.comparing(left)); err != nil {
				return fmt.Errorf("platform %s: %w", j.p, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, j := range jobs {
		i.listings[j.p.DiffIDs[j.layer]] = j.found
	}
	return nil
}

// comparing returns a lister that only hashes files.
func (i *Image) comparing(left *layers.Budget) *image.Lister {
	return &image.Lister{Dir: i.dir, Also: i.caches, Sums: true, Budget: left}
}
