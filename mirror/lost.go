package mirror

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// lost asks for every blob of the image, once a repository, and returns those
// that are not there although manifests name them: storage may lose what a
// registry still vouches for.
func (r *run) lost(ctx context.Context, img *image) ([]digest.Digest, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	gone := make([]bool, len(img.blobs))
	for i, b := range img.blobs {
		g.Go(func() error {
			slot, _ := r.asked.LoadOrStore(pushKey{repository: img.repository, digest: b.desc.Digest.String()}, &answer{})
			a := slot.(*answer)
			a.Lock()
			defer a.Unlock()
			if !a.given {
				has, err := r.registry.HasBlob(ctx, img.repository, b.descriptor())
				if err != nil && !errors.Is(err, remote.ErrMismatch) { // of another length
					return explain(err, "looking for blob "+b.desc.Digest.String())
				}
				a.given, a.has = true, has
			}
			gone[i] = !a.has
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var lost []digest.Digest
	for i, b := range img.blobs {
		if gone[i] {
			lost = append(lost, b.desc.Digest)
		}
	}
	return lost, nil
}

// answer is whether a repository has a blob; the lock is held while it is asked.
type answer struct {
	sync.Mutex
	given, has bool
}

// lostText says which blobs are not there.
func lostText(lost []digest.Digest) string {
	if len(lost) == 1 {
		return fmt.Sprintf("its blob %s is not there", lost[0])
	}
	return fmt.Sprintf("its blob %s and %d more are not there", lost[0], len(lost)-1)
}
