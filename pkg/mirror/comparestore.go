package mirror

import (
	"context"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// compareStore finds the images that a Store has completely.
func (r *run) compareStore(ctx context.Context) error {
	if r.store == nil {
		return nil
	}
	if c, ok := r.destination.(checker); ok && r.CheckBlobs {
		if err := r.check(ctx, c); err != nil {
			return err
		}
	}
	var listed map[string]digest.Digest
	l, lists := r.destination.(lister)
	if lists {
		var err error
		if listed, err = l.Listed(); err != nil {
			r.Log.Warn("the index of the destination cannot be read; it will be written again", "error", err)
		}
	}
	for _, img := range r.images {
		if lists && slices.ContainsFunc(indexNames(img.Image), func(name string) bool { return listed[name] != img.Digest }) {
			continue
		}
		img.present = !slices.ContainsFunc(img.manifests, func(m *plan.Manifest) bool {
			return !r.store.Has(manifestDescriptor(m))
		}) && !slices.ContainsFunc(img.blobs, func(b *blob) bool { return !r.store.Has(b.descriptor()) })
	}
	return nil
}

// A lister is a Store in which images are found only by name: it returns the root manifests by
// name.
type lister interface {
	Listed() (map[string]digest.Digest, error)
}

// A checker is a Store that reads content and compares it with its digest. From then on, Has is
// false for content with a problem.
type checker interface {
	Check(ctx context.Context, desc ocispec.Descriptor) (problem, err error)
}

// check reads all content of the plan that the destination has.
func (r *run) check(ctx context.Context, c checker) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	one := func(desc ocispec.Descriptor) {
		g.Go(func() error {
			if ctx.Err() != nil || !r.store.Has(desc) {
				return context.Cause(ctx)
			}
			problem, err := c.Check(ctx, desc)
			if problem != nil {
				r.Log.Warn("content at the destination is damaged; it is copied again", "digest", desc.Digest, "error", problem)
			}
			return err
		})
	}
	manifests, blobs := map[*plan.Manifest]bool{}, map[*blob]bool{}
	for _, img := range r.images {
		for _, m := range img.manifests {
			if !manifests[m] {
				manifests[m] = true
				one(manifestDescriptor(m))
			}
		}
		for _, b := range img.blobs {
			if !blobs[b] {
				blobs[b] = true
				one(b.descriptor())
			}
		}
		r.Meter.addCompared(1)
	}
	return g.Wait()
}
