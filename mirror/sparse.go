package mirror

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/plan"
)

// A SparseError says that a registry refuses an index some of whose children
// platforms left out. It ends a run, since every such index meets it.
type SparseError struct {
	Image string // the source of the image that was tried
	Err   error  // what the registry said
}

func (e *SparseError) Error() string {
	return "the mirror does not take the index of " + e.Image + ", some of whose platforms are left out (a sparse index): " + e.Err.Error() + "; " + e.Hint()
}

// Unwrap returns the registry's answer.
func (e *SparseError) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *SparseError) Hint() string {
	return "have the registry take sparse indexes (CNCF distribution: validation.manifests.indexes.platforms: none), or leave platforms out of the configuration"
}

// refuses reports whether a registry found the manifest itself wanting, rather
// than its client or its own state.
func refuses(err error) bool {
	var answer *remote.Error
	return errors.As(err, &answer) &&
		slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity}, answer.Status)
}

// probe finds out whether a registry takes sparse indexes, before everything
// else is copied: it brings the smallest image that has one. Where an image that
// is there already has one, the answer is known.
func (r *run) probe(ctx context.Context) error {
	if r.registry == nil {
		return nil
	}
	var smallest *image
	for _, img := range r.images {
		switch {
		case !slices.ContainsFunc(img.manifests, func(m *plan.Manifest) bool { return m.Sparse }):
		case img.present:
			return nil
		case img.err == nil && !img.waits() && (smallest == nil || img.bytes() < smallest.bytes()):
			smallest = img
		}
	}
	if smallest == nil {
		return nil
	}
	g, placing := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	for _, b := range smallest.blobs {
		g.Go(func() error { return r.place(placing, b) })
	}
	if err := g.Wait(); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	smallest.mu.Lock()
	whole := smallest.err == nil && smallest.waiting == 0
	smallest.mu.Unlock()
	if !whole {
		return nil // its own trouble, which the report tells, or the run is to stop
	}
	for _, m := range smallest.manifests {
		r.shared[m] = true // with its own turn, which is to find them put
	}
	err := r.putAll(ctx, smallest)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.spoils(err):
		return err
	}
	return nil // what else went wrong is met again where the image's turn comes
}

// bytes is how much of an image's blobs there is.
func (img *image) bytes() int64 {
	var n int64
	for _, b := range img.blobs {
		n += b.desc.Size
	}
	return n
}
