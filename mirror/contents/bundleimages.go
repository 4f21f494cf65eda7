package contents

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// bundleReads is how many images of bundles are read at a time. They are small.
const bundleReads = 8

// A wantedAnswer is a listed bundle, whose image may say more about OLM v1 than its catalog.
type wantedAnswer struct {
	of   *openCatalog
	b    *listing.CatalogBundle
	then func() // once the answer is final
}

// answer notes that a bundle, which may be nil, is listed. readBundles calls then.
func (in *opened) answer(c *openCatalog, b *listing.CatalogBundle, then func()) {
	if b != nil {
		in.wanted = append(in.wanted, wantedAnswer{c, b, then})
	}
}

// readBundles reads the images of the listed bundles that need it, if they are at hand: in a mirror or an archive, or, with
// Options.Sizes, in the registry of a catalog.
func (in *opened) readBundles(ctx context.Context) error {
	var mu sync.Mutex
	failed, seen := []error(nil), map[*listing.CatalogBundle]bool{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(bundleReads)
	for _, w := range in.wanted {
		images, ref := in.bundleImage(w.of, w.b)
		if images == nil || seen[w.b] || !w.b.NeedsImage() {
			continue
		}
		seen[w.b] = true
		g.Go(func() error {
			read, err := build.ReadBundle(ctx, images, ref)
			if err == nil {
				err = w.b.UseImage(read)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, w := range in.wanted {
		w.then()
	}
	if len(failed) > 0 {
		in.env.Warnf("the images of %s cannot be read, so that their webhooks are unknown: %s", env.Number(len(failed), "bundle", "bundles"), env.ErrorText(failed[0]))
	}
	return nil
}

// bundleImage returns what to read the image of a bundle from, nil if it is not at hand, and its reference there.
func (in *opened) bundleImage(c *openCatalog, b *listing.CatalogBundle) (image.Reader, string) {
	if c.stock == nil {
		return in.namedImage(c, b)
	}
	for _, img := range c.stock.bundles[bundleKey{c.of.Name(), b.Package, b.Name}] {
		if img.Kind == plan.BundleImage {
			return pinned{c.images, img.Digest}, c.stock.name(img.Repository) + "@" + img.Digest.String()
		}
	}
	return nil, ""
}

// namedImage is bundleImage for a catalog that is in no plan.
func (in *opened) namedImage(c *openCatalog, b *listing.CatalogBundle) (image.Reader, string) {
	if len(b.Images) == 0 || c.found == nil && !in.sizes {
		return nil, ""
	}
	if c.found == nil {
		return in.sources.Origin, b.Images[0]
	}
	ref, err := reference.Parse(b.Images[0])
	if err != nil {
		return nil, ""
	}
	at := c.found.target.Repository(ref.Path) // programs that mirror keep the path
	at.Tag, at.Digest = ref.Tag, ref.Digest
	return in.sources.Origin, at.String()
}
