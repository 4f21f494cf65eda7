package mirror

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	images "github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A run is one call of Run, Compare, Verify or MissingContent.
type run struct {
	Options
	source      images.Reader
	destination Destination
	registry    Registry      // the destination, or nil if it is none
	store       Store         // the destination, or nil if it is none
	reader      contentReader // the destination; set with ReadBlobs
	strict      bool          // every error of the comparison ends the run
	noTagLists  atomic.Bool   // the registry does not list tags
	*work

	stopper
	denials
	failedBlobs, failedManifests failures

	nonEmpty     sync.Map // repositories that had tags before this run: string -> struct{}
	forecast     forecast // of repositories that no earlier run wrote to
	pushed       sync.Map // manifests that this run pushed: pushKey -> *pushState
	repushed     sync.Map // content that was pushed again: pushKey -> *pushState
	blobChecks   sync.Map // content that was requested from the registry: pushKey -> *blobCheck
	referrers    sync.Map // lists of referrers: pushKey -> func
	intact       sync.Map // manifests that Repair found: pushKey with one tag or none -> struct{}
	damaged      sync.Map // content that is missing or damaged in a repository: digest.Digest -> struct{}
	checked      *CheckedBlobs
	futileChecks atomic.Int64
	ready        chan *image
	pending      atomic.Int64          // images that are not finished
	batches      map[string]*pushBatch // by repository

	firstPush      sync.Once // calls BeforePush
	journalWarning sync.Once // logs once that the journal cannot be written
	count          counts
	proof          proof // that the registry compares content with digests
}

// counts are the numbers of the report.
type counts struct {
	copied, mounted, found    atomic.Int64 // blobs
	copiedBytes, mountedBytes atomic.Int64
	manifests                 atomic.Int64
	manifestBytes             atomic.Int64
	queries                   atomic.Int64 // requests of the comparison
}

// newRun returns a run with default options filled in.
func newRun(p *plan.Plan, source images.Reader, destination Destination, opts Options) (*run, error) {
	if opts.Streams <= 0 {
		opts.Streams = defaultStreams
	}
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	opts.Meter = cmp.Or(opts.Meter, &Meter{})
	if opts.Fatal == nil {
		opts.Fatal = func(error) bool { return false }
	}
	r := &run{Options: opts, source: source, destination: destination, stopper: newStopper()}
	r.registry, _ = destination.(Registry)
	r.store, _ = destination.(Store)
	r.Repair = r.Repair && r.registry != nil
	r.CheckBlobs = r.CheckBlobs || r.ReadBlobs || r.Repair
	if r.Repair {
		r.KnownTags = nil
	}
	if r.ReadBlobs && r.registry != nil {
		var readable bool
		if r.reader, readable = destination.(contentReader); !readable {
			return nil, errors.New("the content of the destination cannot be read")
		}
	}
	var err error
	r.work, err = newWork(p, r.registry != nil)
	return r, err
}

// beforePush is called before each write to the destination.
func (r *run) beforePush(ctx context.Context) {
	if r.BeforePush != nil {
		r.firstPush.Do(func() { r.BeforePush(ctx) })
	}
}

// mayBegin waits until new transfers may begin.
func (r *run) mayBegin(ctx context.Context) error {
	if r.Wait == nil {
		return nil
	}
	return r.Wait(ctx)
}

const defaultStreams = 8
