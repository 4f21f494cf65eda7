package mirror

import (
	"context"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/plan"
)

// look finds the images that a registry has already, with one request an image
// and one a child. The manifest of an image proves its blobs, which a registry
// does not take it without; an index proves nothing of its children, so they
// are asked for one by one. A repository that has no tag yet is found out by its
// first image and asked nothing more.
func (r *run) look(ctx context.Context) error {
	if r.registry == nil {
		return r.lookInside()
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2 * r.Streams)
	for start := 0; start < len(r.images); {
		end := start + 1
		for end < len(r.images) && r.images[end].repository == r.images[start].repository {
			end++
		}
		group := r.images[start:end]
		start = end
		g.Go(func() error { return r.lookInto(ctx, group) })
	}
	return g.Wait()
}

// A lister is a Holder in which an image is found by its name alone: it tells
// the root manifests of the names that it has.
type lister interface {
	Listed() (map[string]digest.Digest, error)
}

// lookInside finds the images that a sink which knows by itself has whole.
func (r *run) lookInside() error {
	if r.holder == nil {
		return nil
	}
	var listed map[string]digest.Digest
	l, lists := r.sink.(lister)
	if lists {
		var err error
		if listed, err = l.Listed(); err != nil {
			return err
		}
	}
	for _, img := range r.images {
		if lists && slices.ContainsFunc(img.Tags, func(tag string) bool { return listed[img.Repository+":"+tag] != img.Digest }) {
			continue
		}
		img.present = !slices.ContainsFunc(img.manifests, func(m plan.Manifest) bool {
			return !r.holder.Has(ocispec.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: m.Size})
		}) && !slices.ContainsFunc(img.blobs, func(b *blob) bool { return !r.holder.Has(b.desc) })
	}
	return nil
}

// lookInto finds the images of one repository.
func (r *run) lookInto(ctx context.Context, group []*image) error {
	repository := group[0].repository
	for i, img := range group {
		present, err := r.isPresent(ctx, img)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			err = fmt.Errorf("looking for %s: %w", img.Source, err)
			if r.strict || r.Fatal(err) {
				return err
			}
			// One repository's trouble is its own: the push will tell.
			r.Log.Warn("taken as absent", "ref", img.Source, "error", err)
			r.used.Store(repository, struct{}{})
			continue
		}
		img.present = present
		if i > 0 || present {
			continue
		}
		fresh, err := r.registry.Fresh(ctx, repository)
		if err != nil {
			return fmt.Errorf("looking into %s: %w", repository, err)
		}
		if fresh {
			return nil
		}
	}
	r.used.Store(repository, struct{}{})
	return nil
}

func (r *run) isPresent(ctx context.Context, img *image) (bool, error) {
	last := len(img.manifests) - 1
	tags := img.Tags
	if len(tags) == 0 {
		tags = []string{""}
	}
	root := img.manifests[last]
	for _, tag := range tags {
		desc := ocispec.Descriptor{MediaType: root.MediaType, Digest: root.Digest, Size: root.Size}
		ok, err := r.registry.HasManifest(ctx, img.repository, tag, desc)
		if !ok || err != nil {
			return false, err
		}
	}
	for _, m := range img.manifests[:last] {
		ok, err := r.registry.HasManifest(ctx, img.repository, "", ocispec.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: m.Size})
		if !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
