package image

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/layers"
)

// compare holds the catalogs of the other platforms against want, that of the
// first.
//
// A platform's layers are taken from the top. Those that the first platform has
// too, by diff ID, are known. The others are read as far down as the first
// platform has anything of the catalog or its cache, so that they can be
// dropped; the position is only a hint. Below that reading stops as soon as the
// catalog is complete. So the base layers of the other platforms, most of an
// image, are not fetched. The price: a base layer that adds files to the
// directory on one platform only is not noticed, and its files are hidden by
// the layer that Build adds.
func (i *Image) compare(ctx context.Context, want *view, left *layers.Budget) error {
	others := i.others()
	if err := i.readTops(ctx, others, left); err != nil {
		return err
	}
	for _, p := range others {
		v := newView()
		for _, layer := range topDown(p) {
			id := p.diffIDs[layer]
			if i.listings[id] == nil {
				if want.differs(v) == "" {
					break
				}
				found, err := i.list(ctx, p, layer, i.comparing(left), left)
				if err != nil {
					return fmt.Errorf("platform %s: %w", p, err)
				}
				i.listings[id] = found
			}
			v.add(layer, i.listings[id])
		}
		if name := want.differs(v); name != "" {
			return fmt.Errorf("the platforms carry different catalogs: /%s is not the same for %s and %s", name, i.primary(), p)
		}
	}
	return nil
}

// readTops reads the layers of the platforms that are unknown and stand where
// the first platform has layers to drop.
func (i *Image) readTops(ctx context.Context, platforms []*platform, left *layers.Budget) error {
	depth := 0
	first := i.primary()
	for n, id := range first.diffIDs {
		if len(i.listings[id].touches) > 0 {
			depth = len(first.diffIDs) - n
			break
		}
	}
	type job struct {
		p     *platform
		layer int
		found *listing
	}
	var jobs []*job
	known := map[string]bool{}
	for _, p := range platforms {
		for layer := max(0, len(p.layers)-depth); layer < len(p.layers); layer++ {
			id := p.diffIDs[layer]
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
			if j.found, err = i.list(ctx, j.p, j.layer, i.comparing(left), left); err != nil {
				return fmt.Errorf("platform %s: %w", j.p, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, j := range jobs {
		i.listings[j.p.diffIDs[j.layer]] = j.found
	}
	return nil
}

// comparing lists a layer whose files are only hashed.
func (i *Image) comparing(left *layers.Budget) *lister {
	return &lister{dir: i.dir, caches: i.caches, sums: true, left: left}
}
