package gantry

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/lockfile"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan"
)

// A run may end at any moment, and its record is written last. So a run that pushes something writes before what it is going
// to push (setrecord.Pending), and removes that after its record. What a run left that has no record is wanted until a later run
// of its image set is recorded: it is continued then, or was given up.

// announce records in the mirror that a run is going to push the content of a plan. The run continues if that fails: its
// content is complete without it. current is the last run of the image set, nil if there is none.
func (s *Session) announce(ctx context.Context, t *RegistryDestination, p *plan.Plan, current *setrecord.Turn) {
	run := setrecord.Pending{
		Name: p.Name, Since: t.now().UTC().Truncate(time.Second), Version: strings.TrimPrefix(s.env.UserAgent, "gantry/"),
		User: setrecord.Visible(s.env.userName()), Host: setrecord.Visible(lockfile.Host()), MaxNestedPaths: t.MaxNestedPaths,
	}
	if current != nil {
		run.Runs = current.Runs
	}
	repository := t.imageSets()
	written, err := setrecord.Announce(ctx, repository, s.sources.cache, run, current, p.Write)
	if err != nil {
		if ctx.Err() == nil { // the record of the run fails, too, and then there is a warning
			s.env.logger().Info("if this run is killed, gantry prune does not find what it pushed", "repository", repository.Repository().Name(), "error", err)
		}
		return
	}
	if written != nil {
		t.announced = append(t.announced, *written)
	}
}

// announceRun is announce for the plan of a run that has the records of the mirror.
func (s *Session) announceRun(ctx context.Context, t *RegistryDestination, p *plan.Plan) {
	if t.recordProblem != nil || slices.Contains(t.unreadable, setrecord.Tag(p.Name)) {
		return // syncRecords sent the warning
	}
	own, known := t.recorded[p.Name]
	if !known {
		s.announce(ctx, t, p, nil)
		return
	}
	current := &own.Turn
	// Another workspace may have recorded runs that began no turn.
	if last, err := setrecord.Last(ctx, t.imageSets(), p.Name); err == nil && last.Tag() == current.Tag() {
		current = last
	}
	s.announce(ctx, t, p, current)
}

// announceShard is announce for the plan that a shard is a part of.
func (s *Session) announceShard(ctx context.Context, t *RegistryDestination, p *plan.Plan) {
	current, err := setrecord.Last(ctx, t.imageSets(), p.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.env.logger().Info("if this run is killed, gantry prune does not find what it pushed", "error", err)
		return
	}
	s.announce(ctx, t, p, current)
}

// removeAnnounced removes what this run announced and has in its record. If the registry does not delete, prune ignores it.
func (s *Session) removeAnnounced(ctx context.Context, t *RegistryDestination, recorded *setrecord.Turn) {
	for i := range t.announced {
		run := &t.announced[i]
		if run.Name != recorded.Name || run.Plan != recorded.Plan || run.MaxNestedPaths != recorded.MaxNestedPaths {
			continue // images were pushed that are not in the plan any more
		}
		if err := t.imageSets().Remove(ctx, run.Manifest); err != nil && ctx.Err() == nil {
			s.env.logger().Debug("removing what the run announced", "tag", run.Tag(), "error", err)
		}
	}
	t.announced = nil
}

// A pendingRun is a run of the mirror without a record.
type pendingRun struct {
	setrecord.Pending
	// wanted means that everything in its plan is wanted, and partly which images are otherwise.
	wanted bool
	partly func(*plan.Image) bool
}

// turn returns the run in the place of a turn.
func (p *pendingRun) turn() prune.Turn {
	return prune.Turn{ImageSet: p.Name + " (a run that did not end)", Number: p.Runs + 1}
}

// readPending reads the runs without a record, and which of them are wanted.
func (r *recordedTurns) readPending(ctx context.Context) error {
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
func (r *recordedTurns) pendingOf(set string) (all []*pendingRun) {
	for _, run := range slices.Backward(r.pending) {
		if run.Name == set {
			all = append(all, run)
		}
	}
	return all
}

// keepPublishedByPending finds the catalogs that runs without a record published, with everything they name.
func (r *recordedTurns) keepPublishedByPending(ctx context.Context, set string, published map[reference.Reference]bool) error {
	for _, run := range r.pendingOf(set) {
		if len(published) == 0 {
			return nil
		}
		p, names, err := r.readPlan(ctx, run.Turn())
		if err != nil {
			return err
		}
		need := needed{published: published}
		if run.partly, err = need.find(p, names); err != nil {
			return err
		}
	}
	return nil
}

// addPending adds what the runs list that have no record. Turns are added later, so that content is the one of a turn if
// both list it.
func (r *recordedTurns) addPending(ctx context.Context) error {
	for _, run := range r.pending {
		p, names, err := r.readPlan(ctx, run.Turn())
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
		if err := r.all.Add(run.turn(), p, names, want); err != nil {
			return err
		}
	}
	return nil
}
