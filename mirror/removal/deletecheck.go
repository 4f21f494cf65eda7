package removal

import (
	"context"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// checkDeletable returns the errors that end the deletions of a list, so that they end Delete before it publishes a
// catalog: records that cannot be read, other mirrors in use, and catalogs and releases that have to stay.
func checkDeletable(ctx context.Context, s *workspace.Session, o *DeleteOptions, t *site.RegistryDestination, listed *listedImages) error {
	r := &recordedRevisions{env: s.Env, to: t, records: mirror.NewImageSets(t.Client, t.RegistryPath), deletes: true, onlyMirror: o.OnlyMirror, listed: listed}
	listed.begin()
	sets, err := setrecord.List(ctx, r.records)
	if err != nil {
		return err
	}
	for i := range sets {
		revisions, err := setrecord.History(ctx, r.records, &sets[i])
		if err != nil {
			return advice.Wrap(advice.Failure, err, unreadHint)
		}
		if err := r.addListed(ctx, revisions); err != nil {
			return err
		}
	}
	if _, err := listed.addForeign(ctx, r); err != nil {
		return err
	}
	p, err := r.plan(ctx)
	if err != nil {
		return err
	}
	return r.checkKept(p)
}

// addListed adds the revisions of an image set, the oldest first, as if no revision needed what is listed. Revisions of image sets
// that lose nothing need it.
func (r *recordedRevisions) addListed(ctx context.Context, revisions []setrecord.Revision) error {
	for i := range revisions {
		revision := &revisions[i]
		p, names, err := r.readPlan(ctx, revision)
		if err != nil {
			return err
		}
		current := i+1 == len(revisions)
		if current {
			r.listed.addCurrent(revision.Name, p, names)
		}
		var want func(*plan.Image) bool
		if !current || r.listed.name == "" || r.listed.name == revision.Name {
			if want, err = r.listed.stays(p, names, nil); err != nil {
				return err
			}
			p = r.listed.untag(p, names)
		}
		if err := r.all.Add(prune.Revision{ImageSet: revision.Name, Number: revision.Number}, p, names, want); err != nil {
			return fmt.Errorf("reading revision %d of the image set %q: %w", revision.Number, revision.Name, err)
		}
	}
	return nil
}
