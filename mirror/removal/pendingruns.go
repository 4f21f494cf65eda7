package removal

import (
	"context"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// A pendingRun is a run of the mirror without a record.
type pendingRun struct {
	setrecord.Pending
	// wanted means that everything in its plan is wanted, and partly which images are otherwise.
	wanted bool
	partly func(*plan.Image) bool
}

// revision returns the run in the place of a revision.
func (p *pendingRun) revision() prune.Revision {
	return prune.Revision{ImageSet: p.Name + " (a run that did not end)", Number: p.Runs + 1}
}

// readPending reads the runs without a record, and which of them are wanted.
func (r *recordedRevisions) readPending(ctx context.Context) error {
	all, err := setrecord.AllPending(ctx, r.records)
	if err != nil {
		return err
	}
	for i := range all {
		run := &pendingRun{Pending: all[i], wanted: all[i].Name != r.forget && r.deletions == nil}
		for j := range r.sets {
			if current := r.sets[j].current(); current.Name == run.Name && current.Runs > run.Runs {
				run.wanted = false
			}
		}
		r.pending = append(r.pending, run)
		r.tags = append(r.tags, run.Tag())
	}
	slices.Sort(r.tags)
	return nil
}

// pendingOf returns the runs of an image set without a record, the newest first.
func (r *recordedRevisions) pendingOf(set string) (all []*pendingRun) {
	for _, run := range slices.Backward(r.pending) {
		if run.Name == set {
			all = append(all, run)
		}
	}
	return all
}

// keepPublishedByPending finds the catalogs that runs without a record published, with everything they name.
func (r *recordedRevisions) keepPublishedByPending(ctx context.Context, set string, published map[reference.Reference]bool) error {
	for _, run := range r.pendingOf(set) {
		if len(published) == 0 {
			return nil
		}
		p, names, err := r.readPlan(ctx, run.Revision())
		if err != nil {
			return err
		}
		need := site.Needed{Published: published}
		if run.partly, err = need.Find(p, names); err != nil {
			return err
		}
	}
	return nil
}

// addPending adds what the runs list that have no record. Revisions are added later, so that content is the one of a revision if
// both list it.
func (r *recordedRevisions) addPending(ctx context.Context) error {
	for _, run := range r.pending {
		p, names, err := r.readPlan(ctx, run.Revision())
		if err != nil {
			return err
		}
		if !run.wanted && len(r.tagged) > 0 {
			if run.partly, err = r.keepTagged(p, names, run.partly); err != nil {
				return err
			}
		}
		want := run.partly
		switch {
		case r.listed != nil:
			if want, err = r.listed.stays(p, names, nil); err != nil {
				return err
			}
			p = r.listed.untag(p, names)
		case run.wanted:
			want = nil
		case want == nil:
			want = func(*plan.Image) bool { return false }
		}
		if err := r.all.Add(run.revision(), p, names, want); err != nil {
			return err
		}
	}
	return nil
}
