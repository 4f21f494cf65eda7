package mirror

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// CheckedBlobs is how many blobs of images that were already at a registry were checked. A blob
// counts once for each repository. Images with lost blobs do not count, as they are copied again.
type CheckedBlobs struct {
	Checked   int `json:"checked"`
	Unchecked int `json:"unchecked"`
	// Read means that the checked blobs were read and compared with their digests. Otherwise, the
	// registry was asked whether it has them, and how long they are.
	Read bool `json:"read"`
}

// minSample is how many blobs a run requests at least, if it has as many images.
const minSample = 4

// checkSample requests some blobs of the images that are present, different ones in each run. If the
// registry lost one of them, it requests all, and images with lost blobs are copied again.
//
// The number of blobs is half of what the comparison left to one request per image, and at least one
// blob for eight images and minSample. Every blob is requested once in as many runs as that takes.
func (r *run) checkSample(ctx context.Context) error {
	if r.registry == nil || !r.SampleBlobs && !r.CheckBlobs {
		return nil
	}
	all := 0
	r.eachPresentBlob(func(int, *image, *blob) { all++ })
	if all == 0 {
		return nil
	}
	r.checked = &CheckedBlobs{Checked: all, Read: r.ReadBlobs}
	if r.CheckBlobs {
		return nil
	}
	wanted := max(min(minSample, len(r.images)), (len(r.images)+sampleEvery-1)/sampleEvery, (len(r.images)-int(r.count.queries.Load()))/2)
	step, turn := (all+wanted-1)/wanted, 0
	if r.KnownTags != nil {
		turn = r.KnownTags.turn % step
	}
	lost, err := r.checkEvery(ctx, step, turn)
	r.checked.Unchecked = all - r.checked.Checked
	if err != nil || !lost {
		return err
	}
	r.Log.Warn("the registry lost a blob of an image that it has; every blob is checked")
	if err := r.checkAllBlobs(ctx); err != nil {
		return err
	}
	r.checked = &CheckedBlobs{}
	r.eachPresentBlob(func(int, *image, *blob) { r.checked.Checked++ })
	return nil
}

// eachPresentBlob calls visit for every blob of the images that are present, once per repository.
func (r *run) eachPresentBlob(visit func(i int, img *image, b *blob)) {
	n, repository := 0, ""
	seen := map[*blob]bool{}
	for _, img := range r.images {
		if img.repository != repository {
			repository = img.repository
			clear(seen)
		}
		if !img.present {
			continue
		}
		for _, b := range img.blobs {
			if !seen[b] {
				seen[b] = true
				visit(n, img, b)
				n++
			}
		}
	}
}

// checkEvery requests every step-th blob and reports whether one is lost. A blob that cannot be
// requested counts as unchecked.
func (r *run) checkEvery(ctx context.Context, step, turn int) (lost bool, err error) {
	var found atomic.Bool
	var checked atomic.Int64
	g, during := errgroup.WithContext(ctx)
	g.SetLimit(2 * r.Streams)
	r.eachPresentBlob(func(i int, img *image, b *blob) {
		if i%step != turn || during.Err() != nil {
			return
		}
		g.Go(func() error {
			problem, err := r.checkBlob(during, img.repository, b)
			switch {
			case during.Err() != nil:
				return context.Cause(during)
			case err != nil && r.Fatal(err):
				return err
			case err != nil:
				r.Log.Warn("a blob cannot be checked", "ref", img.Source, "error", err)
				return nil
			case problem != "":
				r.Log.Warn("the registry lost a blob", "ref", img.Source, "digest", b.desc.Digest, "problem", problem)
				found.Store(true)
			}
			checked.Add(1)
			return nil
		})
	})
	err = cmp.Or(g.Wait(), context.Cause(ctx))
	r.checked.Checked = int(checked.Load())
	return found.Load(), err
}

// checkAllBlobs requests every blob of the images that are present. Images with lost blobs are no
// longer present.
func (r *run) checkAllBlobs(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	for _, img := range r.images {
		if !img.present {
			continue
		}
		g.Go(func() error {
			lost, err := r.lostBlobs(ctx, img)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return fmt.Errorf("looking for the blobs of %s at the destination: %w", img.name(), err)
			}
			img.present = len(lost) == 0
			return nil
		})
	}
	return g.Wait()
}
