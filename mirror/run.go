package mirror

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/plan"
)

// Options are the limits and observers of a run. The zero value is usable.
type Options struct {
	// Streams is the number of blobs that move at the same time, and of
	// requests for manifests beside them; 0 means 8.
	Streams int
	// Fatal says which errors of the sink concern every image, such as refused
	// credentials or a full disk: the run ends with them.
	Fatal func(error) bool
	// Journal, where set, lets a run that is repeated find the blobs of
	// images that were not finished.
	Journal Journal
	// Receipt, where set, is what earlier runs left at the destination, a
	// registry. Where one repository holds several of its images under tags that
	// say their digests, a list of the repository's tags stands for the question
	// for each: such a tag names that image or, where it was deleted, is gone.
	// One in eight is asked for nevertheless, in turns, since storage may lose
	// what the registry's index still lists. Children are always asked for. An
	// image of the receipt whose tag is gone is asked for by its digests, and
	// where it is there, only the tag is put.
	Receipt *Receipt
	// Elsewhere, where set, tells of a blob that the source leaves out in which
	// repository of the sink, a registry, it stands; "" is what it does not know. It
	// is looked for there before the source is asked.
	Elsewhere func(ocispec.Descriptor) (repository string)
	// CheckBlobs has a registry asked for every blob of every image, where else
	// the manifest of an image proves them. Run brings those that are lost, Verify
	// names them. Of a layout all content of the plan is read, and what is damaged
	// brought again.
	CheckBlobs bool
	// Stop ends the run with the first image that fails: nothing more is begun,
	// what is under way comes to its end, and Run returns a *StopError. Where the
	// plan has missing images, nothing is begun at all.
	Stop bool
	// Meter, where set, is told how far the run is.
	Meter *Meter
	Log   *slog.Logger
}

const defaultStreams = 8

// Run copies what the sink lacks of the plan. It returns a Report in every
// case; the error is that which ended the run early, the end of ctx among them.
// Images that failed on their own are in the report, not in the error.
func Run(ctx context.Context, p *plan.Plan, source Source, sink Sink, opts Options) (*Report, error) {
	r, err := newRun(p, source, sink, opts)
	if err != nil {
		return &Report{}, err
	}
	r.Meter.begin(p)
	if r.Stop && len(p.Missing) > 0 {
		return r.report(p), missingStops(p.Missing[0])
	}
	if err := r.look(ctx); err != nil {
		return r.report(p), err
	}
	err = r.copy(ctx)
	return r.report(p), err
}

// newRun takes the plan apart for a sink.
func newRun(p *plan.Plan, source Source, sink Sink, opts Options) (*run, error) {
	if opts.Streams <= 0 {
		opts.Streams = defaultStreams
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Meter == nil {
		opts.Meter = &Meter{}
	}
	if opts.Fatal == nil {
		opts.Fatal = func(error) bool { return false }
	}
	r := &run{Options: opts, source: source, sink: sink, halt: newHalt()}
	r.registry, _ = sink.(Registry)
	r.holder, _ = sink.(Holder)
	var err error
	r.work, err = take(p, r.registry != nil)
	return r, err
}

// run is one call of Run, or of what only looks.
type run struct {
	Options
	source   Source
	sink     Sink
	registry Registry    // sink, where it is one
	holder   Holder      // sink, where it is one
	strict   bool        // every error while looking ends the run
	unlisted atomic.Bool // the registry gives no lists of tags
	*work

	halt
	denials
	failedBlobs, failedManifests failures

	used    sync.Map // repositories that are not fresh: string -> struct{}
	pushed  sync.Map // manifests that this run put: pushKey -> *push
	mended  sync.Map // content that had to be brought again: pushKey -> *push
	asked   sync.Map // blobs that were asked for while looking: pushKey -> *answer
	vain    atomic.Int64
	ready   chan *image
	pending atomic.Int64      // images not settled
	shelves map[string]*shelf // by repository

	unnoted sync.Once // the journal failed
	count   counts
}

// counts are what the report tells of the copying.
type counts struct {
	copied, mounted, found    atomic.Int64 // blobs
	copiedBytes, mountedBytes atomic.Int64
	manifests                 atomic.Int64
	manifestBytes             atomic.Int64
}

// copy moves blobs and manifests. Its workers end when every image is settled,
// when ctx ends, or with the first fatal error. What the registry denied to every
// image is an error, too.
func (r *run) copy(ctx context.Context) error {
	needed := r.need()
	r.ready = make(chan *image, len(r.images))
	r.arm()
	r.Meter.plan(r.images, needed)
	if err := r.probe(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(r.Streams, max(1, len(needed))) {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(needed) || r.halted() {
					return nil
				}
				if needed[i].placed {
					continue
				}
				if err := r.place(ctx, needed[i]); err != nil {
					return err
				}
			}
		})
	}
	for range min(r.Streams, max(1, len(r.images))) {
		g.Go(func() error {
			for !r.halted() {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-r.halts:
				case img, ok := <-r.ready:
					if !ok {
						return nil
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
	return r.shortfall()
}

// arm counts what each image waits for and starts those that wait for nothing.
func (r *run) arm() {
	r.pending.Store(int64(len(r.images)))
	r.shelves, r.wholes = map[string]*shelf{}, map[plan.Whole][]*image{}
	for _, img := range r.images {
		r.expect(img)
		// A catalog or a release waits for its images where it is published, not
		// where it is only carried.
		if whole, ok := img.Whole(); ok && !img.present && r.registry != nil {
			r.wholes[whole] = append(r.wholes[whole], img)
		}
	}
	for _, img := range r.images {
		for _, whole := range r.feeds(img) {
			whole.waiting++
		}
	}
	var start []*image
	for _, img := range r.images {
		if img.present || img.waiting == 0 {
			start = append(start, img)
		}
	}
	for _, img := range start {
		if img.present {
			r.settle(img, nil)
		} else {
			r.ready <- img
		}
	}
	if len(r.images) == 0 {
		close(r.ready)
	}
}

// feeds are the images of catalogs and releases that wait for this one, each once.
func (r *run) feeds(img *image) []*image {
	if img.present || img.waits() {
		return nil
	}
	var waiting []*image
	for _, because := range img.Because {
		needs, ok := because.Whole()
		if !ok {
			continue
		}
		for _, whole := range r.wholes[needs] {
			if !slices.Contains(waiting, whole) {
				waiting = append(waiting, whole)
			}
		}
	}
	return waiting
}

// arrived tells an image that one thing it waited for is there, or, with an
// error, will not come.
func (r *run) arrived(img *image, err error) {
	img.mu.Lock()
	img.waiting--
	if err != nil && img.err == nil {
		img.err = err
	}
	r.failed(img, err)
	complete := img.waiting == 0
	img.mu.Unlock()
	if complete {
		r.ready <- img
	}
}

// settle ends an image's way, well or with an error, and lets the catalogs that
// wait for it go on.
func (r *run) settle(img *image, err error) {
	img.mu.Lock()
	if img.err == nil {
		img.err = err
	}
	err = img.err
	img.done = true
	r.failed(img, err)
	img.mu.Unlock()
	if err != nil && !errors.Is(err, errHeld) {
		r.Log.Info("image not mirrored", "ref", img.Source, "error", err) // the report has it
	}
	for _, cat := range r.feeds(img) {
		if err != nil {
			cat.mu.Lock()
			cat.refused = append(cat.refused, img.Source)
			cat.mu.Unlock()
			r.arrived(cat, errHeld)
			continue
		}
		r.arrived(cat, nil)
	}
	r.Meter.settle(img, err)
	if r.pending.Add(-1) == 0 {
		close(r.ready)
	}
}

// errHeld is why a catalog is not published.
var errHeld = errors.New("held back, since images that it names are missing")

// publish ends an image's way: its manifests, where all went well so far. The
// error returned ends the run; others are the image's.
func (r *run) publish(ctx context.Context, img *image) error {
	err := img.err // nobody else has a say any more
	if err == nil {
		err = r.putAll(ctx, img)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.spoils(err) {
		return err
	}
	if r.registry != nil {
		return r.shelve(ctx, img, err)
	}
	r.settle(img, err)
	return nil
}

// putAll puts an image's manifests, children first, and its tags last.
func (r *run) putAll(ctx context.Context, img *image) error {
	for i, m := range img.manifests {
		tags := img.tagsOf(i)
		if img.stays && len(tags) == 0 {
			continue
		}
		if err := r.put(ctx, img, m, tags); err != nil {
			return err
		}
	}
	return nil
}

// tagsOf are the tags of the image's i-th manifest: the root has them all.
func (img *image) tagsOf(i int) []string {
	if i == len(img.manifests)-1 {
		return img.Tags
	}
	return nil
}

// put puts one manifest, once per repository and tag.
func (r *run) put(ctx context.Context, img *image, m *plan.Manifest, tags []string) error {
	desc := manifestDescriptor(m)
	p := r.slot(img, m, tags)
	p.Lock()
	defer p.Unlock()
	if p.done {
		return nil
	}
	if r.holder != nil && r.holder.Has(desc) {
		p.done = true
		return nil
	}
	_, raw, err := r.source.Manifest(ctx, img.Source, desc.Digest)
	if err != nil {
		return &sourceError{explain(err, "reading manifest "+desc.Digest.String())}
	}
	err = r.write(ctx, img, m, raw, tags)
	if end := r.tookManifest(img.repository, m.Digest, err); end != nil {
		return end
	}
	if err != nil {
		if m.Sparse && refuses(err) {
			err = &SparseError{Image: img.Source, Err: err}
		}
		return explain(err, "writing manifest "+desc.Digest.String())
	}
	p.done = true
	r.count.manifests.Add(1)
	r.count.manifestBytes.Add(desc.Size)
	r.Meter.pushed(desc.Size)
	return nil
}
