package mirror

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A SparseError means that a registry refuses a sparse index: an index without the children of the
// platforms that are not mirrored. It ends the run, because every such index would fail.
type SparseError struct {
	Image string // the source of the image that was tried
	Err   error  // the registry's response
}

func (e *SparseError) Error() string {
	return "the mirror refused the index of " + e.Image + " because some of its platforms are not mirrored (a sparse index): " + e.Err.Error()
}

// Unwrap returns the registry's response.
func (e *SparseError) Unwrap() error { return e.Err }

// Advice returns the kind and what to do.
func (e *SparseError) Advice() (advice.Kind, string) {
	return advice.Failure, "allow sparse indexes in the registry (CNCF distribution: validation.manifests.indexes.platforms: none), or set platformsMode: rewrite beside platforms for smaller indexes (of releases: architectures in place of platforms), or remove platforms from the configuration to mirror all of them"
}

// refusesManifest reports whether a registry refused the manifest itself, not the client, and not
// because of its own state.
func refusesManifest(err error) bool {
	var response *remote.Error
	return errors.As(err, &response) &&
		slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity}, response.Status)
}

// probeSparse checks whether a registry accepts sparse indexes before everything else is copied: it
// pushes the smallest image that has one. If an image that is already present has one, nothing needs
// to be checked.
func (r *run) probeSparse(ctx context.Context) error {
	if r.registry == nil {
		return nil
	}
	var smallest *image
	for _, img := range r.images {
		switch {
		case !slices.ContainsFunc(img.manifests, func(m *plan.Manifest) bool { return m.Sparse }):
		case img.present:
			return nil
		case img.err == nil && !img.publishedLast() && (smallest == nil || img.bytes() < smallest.bytes()):
			smallest = img
		}
	}
	if smallest == nil {
		return nil
	}
	g, pushing := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	for _, b := range smallest.blobs {
		g.Go(func() error { return r.pushBlob(pushing, b) })
	}
	if err := g.Wait(); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	smallest.mu.Lock()
	whole := smallest.err == nil && smallest.waiting == 0
	smallest.mu.Unlock()
	if !whole {
		return nil // this image failed, which is reported, or the run is stopping
	}
	for _, m := range smallest.manifests {
		r.shared[m] = true // so that the image's own push finds that they are pushed
	}
	put := r.putManifests
	if smallest.hasAttachments() {
		put = r.putUntagged
	}
	err := put(ctx, smallest)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.fatalWrite(err):
		return err
	}
	return nil // other errors occur again when the image itself is pushed
}

// bytes returns the total size of the image's blobs.
func (img *image) bytes() int64 {
	var n int64
	for _, b := range img.blobs {
		n += b.desc.Size
	}
	return n
}
