package mirror

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/plan"
)

// look finds the images that a registry has already, with one request an image
// and one a child. The manifest of an image proves its blobs, which a registry
// does not take it without; an index proves nothing of its children, so they
// are asked for one by one. A repository that has no tag yet is found out by its
// first image and asked nothing more. A receipt spares more: see [Options].
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
		group, first := r.images[start:end], start
		start = end
		g.Go(func() error { return r.lookInto(ctx, group, first) })
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
		img.present = !slices.ContainsFunc(img.manifests, func(m *plan.Manifest) bool {
			return !r.holder.Has(manifestDescriptor(m))
		}) && !slices.ContainsFunc(img.blobs, func(b *blob) bool { return !r.holder.Has(b.descriptor()) })
	}
	return nil
}

// lookInto finds the images of one repository, whose first is the first-th of
// all.
func (r *run) lookInto(ctx context.Context, group []*image, first int) error {
	repository, looked := group[0].repository, 0
	defer func() { r.Meter.look(len(group) - looked) }()
	told, err := r.list(ctx, group, first)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		r.unlisted.Store(true)
		r.Log.Debug("the registry lists no tags; images are asked for one by one", "repository", repository, "error", err)
	case told != nil && told.none && !r.Receipt.left(repository):
		return nil
	}
	untagged := r.Receipt.left(repository) // whether images may stand there without their tags
	for i, img := range group {
		present, err := r.isPresent(ctx, img, told)
		looked++
		r.Meter.look(1)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			err = fmt.Errorf("looking for %s at the destination: %w", img.name(), err)
			if r.strict || r.Fatal(err) {
				return err
			}
			// One repository's trouble is its own: the push will tell.
			r.Log.Warn("taken as absent", "ref", img.Source, "error", err)
			r.used.Store(repository, struct{}{})
			continue
		}
		img.present = present
		if !present && untagged && !r.CheckBlobs && r.Receipt.left(repository, img.Image) {
			if untagged, err = r.stays(ctx, img); err != nil {
				return err
			}
		}
		if told != nil && told.none && !untagged {
			return nil // what earlier runs left is gone
		}
		if i > 0 || present || told != nil || untagged {
			continue
		}
		tags, err := r.registry.Tags(ctx, repository, 1)
		if err != nil {
			err = fmt.Errorf("looking into %s: %w", repository, err)
			if r.strict || !denies(err) {
				return err
			}
			continue // it keeps its list to itself: the images are asked for one by one
		}
		if len(tags) == 0 {
			return nil
		}
	}
	r.used.Store(repository, struct{}{})
	return nil
}

// name is what the image is called at the destination, without the host: its
// source may be a folder, of which the destination knows nothing.
func (img *image) name() string {
	if len(img.Tags) == 0 {
		return img.Repository + "@" + img.Digest.String()
	}
	return img.Repository + ":" + img.Tags[0]
}

// told is what a list of tags says of the images of a repository.
type told struct {
	// none says that the repository has no tag.
	none bool
	// tags are those of images that need not be asked for, and whether the
	// repository has them.
	tags map[string]bool
}

const (
	// every is one in how many images is asked for although a list has its tag.
	every = 8
	// listed is how many tags a registry gives at a time, at least.
	listed = 100
)

// list asks for the tags of a repository, where that spares more questions than
// it costs; else it returns nil.
func (r *run) list(ctx context.Context, group []*image, first int) (*told, error) {
	if r.Receipt == nil || r.strict || r.CheckBlobs || r.unlisted.Load() {
		return nil, nil
	}
	tags := map[string]bool{}
	n := 0
	for _, img := range group {
		if len(img.Tags) != 1 || !saysDigest(img.Tags[0], img.Digest) || !r.Receipt.has(img.repository, img.Tags[0], img.Digest) {
			continue
		}
		if (first+n+r.Receipt.turn)%every != 0 {
			tags[img.Tags[0]] = false
		}
		n++
	}
	if n < 2 {
		return nil, nil
	}
	// So many tags come with no more requests than the list spares, though the
	// mirror may have gathered others for years. What lies behind them is asked
	// for.
	limit := listed * len(tags)
	found, err := r.registry.Tags(ctx, group[0].repository, limit)
	if err != nil {
		return nil, err
	}
	for _, tag := range found {
		if _, asked := tags[tag]; asked {
			tags[tag] = true
		}
	}
	if len(found) >= limit {
		maps.DeleteFunc(tags, func(_ string, found bool) bool { return !found })
	}
	return &told{none: len(found) == 0, tags: tags}, nil
}

// isPresent asks for the image, or believes what the list of tags said of it,
// and for its children.
func (r *run) isPresent(ctx context.Context, img *image, told *told) (bool, error) {
	last := len(img.manifests) - 1
	tags := img.Tags
	if len(tags) == 0 {
		tags = []string{""}
	}
	if told != nil {
		if found, known := told.tags[tags[0]]; known && !found {
			return false, nil
		} else if known {
			tags = nil
		}
	}
	root := img.manifests[last]
	for _, tag := range tags {
		ok, err := r.registry.HasManifest(ctx, img.repository, tag, manifestDescriptor(root))
		if !ok || err != nil {
			return false, err
		}
	}
	for _, m := range img.manifests[:last] {
		ok, err := r.registry.HasManifest(ctx, img.repository, "", manifestDescriptor(m))
		if !ok || err != nil {
			return false, err
		}
	}
	if r.CheckBlobs {
		lost, err := r.lost(ctx, img)
		return err == nil && len(lost) == 0, err
	}
	return true, nil
}

// stays asks for an image of the receipt by its digests, which needs no tag. So
// somebody who removed a tag has it put back with one request.
func (r *run) stays(ctx context.Context, img *image) (bool, error) {
	for _, m := range slices.Backward(img.manifests) {
		ok, err := r.registry.HasManifest(ctx, img.repository, "", manifestDescriptor(m))
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if err != nil && r.Fatal(err) {
			return false, fmt.Errorf("looking for %s at the destination: %w", img.name(), err)
		}
		if !ok || err != nil {
			return false, nil // the push will tell
		}
	}
	img.stays = true
	return true, nil
}
