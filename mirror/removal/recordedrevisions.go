package removal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// recordedRevisions are the revisions of all image sets that a mirror has records of, and what they list.
type recordedRevisions struct {
	env     *env.Env
	to      *site.RegistryDestination
	records *mirror.ImageSets
	sets    []revisionsOfSet
	all     prune.Recorded
	tags    []string // of all revisions and pending runs, sorted
	pending []*pendingRun
	// deletes means that what is not wanted is deleted; onlyMirror is PruneOptions.OnlyMirror.
	deletes, onlyMirror bool
	// forget is PruneOptions.Forget. onlyHere means that the workspace knows it and the mirror does not.
	forget   string
	onlyHere bool
	// published are catalogs of a forgotten image set in the mirror that none of its revisions has.
	published []reference.Reference
	// listed are the only images that are deleted; nil for all that no revision needs.
	listed *listedImages
	// tagged is the one of PruneOptions.
	tagged map[imagePlace]bool
	// others are images in the records that only another mirror needs, whose repositories contain this one's or are below it. The
	// records of both must not keep what neither needs, so this one leaves them out.
	others map[imagePlace]bool
	// deletions select images of the current revisions that are not wanted; nil for none.
	deletions *deletions
}

// revisionsOfSet are the revisions of one image set, the oldest first.
type revisionsOfSet struct {
	revisions []setrecord.Revision
	// wanted has for each revision whether everything in it is wanted, and partly which images are otherwise.
	wanted []bool
	partly map[int]func(*plan.Image) bool
	// forgotten means that the image set was given up: none of its revisions is wanted.
	forgotten bool
	// record is the one of the current revision, and written the one that was written since, nil if none was. Then, first is
	// the revision of record.
	record, written *state.Record
	first           setrecord.Revision
}

func (s *revisionsOfSet) current() *setrecord.Revision { return &s.revisions[len(s.revisions)-1] }

// readPlan reads the plan of a revision, and returns it with its repositories in the mirror.
func (r *recordedRevisions) readPlan(ctx context.Context, revision *setrecord.Revision) (*plan.Plan, map[string]reference.Reference, error) {
	text, err := setrecord.OpenPlan(ctx, r.records, revision)
	if err != nil {
		return nil, nil, err
	}
	p, err := plan.Read(text, r.all.Digests()...)
	if err == nil {
		_, err = io.Copy(io.Discard, text) // its end verifies the digest
	}
	if err = errors.Join(err, text.Close()); err != nil {
		return nil, nil, fmt.Errorf("reading the plan of revision %d of the image set %q: %w", revision.Number, revision.Name, err)
	}
	p = p.WithDigestTags()
	path := r.to.RegistryPath
	path.MaxNestedPaths = revision.MaxNestedPaths
	names, err := path.Repositories(p)
	return p, names, err
}

// options returns the options for requests to the mirror. What is done is shown as what.
func (r *recordedRevisions) options(what string) (o prune.Options, stop func()) {
	var done, all atomic.Int64
	stop = env.Show(r.env.Observer, what, func() progress.Reading {
		return progress.Reading{Facts: []string{fmt.Sprintf("%d of %d", done.Load(), all.Load())}}
	})
	return prune.Options{
		Streams: r.to.Streams,
		Fatal:   func(err error) bool { return site.Fatal(err) || errors.Is(err, remote.ErrNoDelete) },
		Progress: func(n, of int) {
			done.Store(int64(n))
			all.Store(int64(of))
		},
	}, stop
}
