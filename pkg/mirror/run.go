package mirror

import (
	"context"
	"log/slog"
	"sync/atomic"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	images "github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// Options are the limits and observers of a run. The zero value is usable.
type Options struct {
	// Streams is the number of blobs that are copied at the same time, and of requests for
	// manifests beside them; 0 means 8.
	Streams int
	// Fatal reports whether an error of the destination concerns every image, such as refused
	// credentials or a full disk. Such an error ends the run. nil means that none does.
	Fatal func(error) bool
	// Journal, if set, lets a repeated run find the blobs of unfinished images.
	Journal Journal
	// KnownTags, if set, is what earlier runs left in the registry. If a repository has several of
	// these images under tags that are made of their digests, one list of the repository's tags
	// replaces a request for each: such a tag names that image, or is missing if it was deleted.
	// One in eight images is still requested, in turns, because storage may lose what the
	// registry's index lists. Children are always requested. A known image whose tag is missing is
	// requested by digest, and if it is present, only the tag is pushed.
	KnownTags *KnownTags
	// MountFrom, if set, returns the repository of the registry that has a blob which the source
	// omits, or "" if unknown. The blob is looked for there before it is requested from the source.
	MountFrom func(ocispec.Descriptor) (repository string)
	// CheckBlobs requests every blob of every image from the registry and compares its length;
	// otherwise, the manifest of an image is proof of its blobs. Run copies lost blobs again, and
	// Verify reports them. In a layout, all content of the plan is read, and damaged content is
	// copied again.
	CheckBlobs bool
	// ReadBlobs is CheckBlobs that reads every manifest and blob of the registry and compares it
	// with its digest.
	ReadBlobs bool
	// Repair is CheckBlobs that copies nothing but what is missing or damaged at a registry: the
	// manifests of an image that are present are neither read at the source nor pushed again. Nothing
	// that earlier runs recorded is relied on.
	Repair bool
	// Found, if set, is called with what Repair found before it copies.
	Found func([]MissingImage)
	// SampleBlobs makes Run request some blobs of images that the registry already has, different
	// ones in each turn of KnownTags, and usually so few that a run with nothing new makes at most
	// one request per image. If one is lost, it is as if CheckBlobs were set.
	SampleBlobs bool
	// StopOnError ends the run with the first image that fails: nothing new is started, transfers
	// in progress are completed, and Run returns a *StopError. If the plan has missing images,
	// nothing is started at all.
	StopOnError bool
	// Wait, if set, is called before each blob and each image begins. It returns when it may begin, or
	// with an error that ends the run.
	Wait func(context.Context) error
	// BeforePush, if set, is called once, before the first blob or manifest is written.
	BeforePush func(context.Context)
	// Meter, if set, measures the progress.
	Meter *Meter
	Log   *slog.Logger

	proofWorth int64 // instead of the constant, for tests; 0 means the constant
}

// Run copies what the destination lacks of the plan. It always returns a Report. The error is what
// ended the run early, including the end of ctx. Images that failed are in the report, not in the
// error.
func Run(ctx context.Context, p *plan.Plan, source images.Reader, destination Destination, opts Options) (*Report, error) {
	r, err := newRun(p, source, destination, opts)
	if err != nil {
		return &Report{}, err
	}
	r.Meter.begin(p)
	if r.StopOnError && len(p.Missing) > 0 {
		return r.report(p), missingImageStop(p.Missing[0])
	}
	if err := r.compare(ctx); err != nil {
		return r.report(p), err
	}
	if r.Repair {
		missing, err := r.findMissing(ctx, p)
		if err != nil {
			return r.report(p), err
		}
		if r.Found != nil {
			r.Found(missing)
		}
	}
	if err := r.checkSample(ctx); err != nil {
		return r.report(p), err
	}
	err = r.copy(ctx)
	return r.report(p), err
}

// copy copies blobs and manifests. Its workers end when every image is finished, when ctx ends, or
// with the first fatal error.
func (r *run) copy(ctx context.Context) error {
	needed := r.neededBlobs()
	r.ready = make(chan *image, len(r.images))
	r.schedule()
	r.Meter.setTotal(r.images, needed)
	r.mayLeaveHashing(needed)
	if err := r.probeSparse(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(r.Streams, max(1, len(needed))) {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(needed) || r.stopped() {
					return nil
				}
				if needed[i].attempted {
					continue
				}
				if err := r.mayBegin(ctx); err != nil {
					return err
				}
				if err := r.pushBlob(ctx, needed[i]); err != nil {
					return err
				}
			}
		})
	}
	for range min(r.Streams, max(1, len(r.images))) {
		g.Go(func() error {
			for !r.stopped() {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-r.stopping:
				case img, ok := <-r.ready:
					if !ok {
						return nil
					}
					if err := r.mayBegin(ctx); err != nil {
						return err
					}
					if err := r.publish(ctx, img); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return r.finalError()
}
