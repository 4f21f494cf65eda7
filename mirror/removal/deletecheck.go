package removal

import (
	"context"
	"fmt"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/mirror/prune"
	"github.com/gantry-mirror/gantry/mirror/site"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// checkDeletable returns the errors that end the deletions of a list, so that they end Delete before it publishes a
// catalog: records that cannot be read, other mirrors in use, and catalogs and releases that have to stay.
func checkDeletable(ctx context.Context, s *workspace.Session, o *DeleteOptions, t *site.RegistryDestination, listed *listedImages) error {
	r := &recordedTurns{env: s.Env, to: t, records: mirror.NewImageSets(t.Client, t.RegistryPath), deletes: true, onlyMirror: o.OnlyMirror, listed: listed}
	listed.begin()
	sets, err := setrecord.List(ctx, r.records)
	if err != nil {
		return err
	}
	for i := range sets {
		turns, err := setrecord.History(ctx, r.records, &sets[i])
		if err != nil {
			return advice.Wrap(advice.Failure, err, "nothing can be deleted while a record cannot be read: what it wants is unknown")
		}
		if err := r.addListed(ctx, turns); err != nil {
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

// addListed adds the turns of an image set, the oldest first, as if no turn wanted what is listed. Turns of image sets
// that lose nothing want it.
func (r *recordedTurns) addListed(ctx context.Context, turns []setrecord.Turn) error {
	for i := range turns {
		turn := &turns[i]
		p, names, err := r.readPlan(ctx, turn)
		if err != nil {
			return err
		}
		current := i+1 == len(turns)
		if current {
			r.listed.addCurrent(turn.Name, p, names)
		}
		var want func(*plan.Image) bool
		if !current || r.listed.name == "" || r.listed.name == turn.Name {
			if want, err = r.listed.stays(p, names, nil); err != nil {
				return err
			}
			p = r.listed.untag(p, names)
		}
		if err := r.all.Add(prune.Turn{ImageSet: turn.Name, Number: turn.Number}, p, names, want); err != nil {
			return fmt.Errorf("reading turn %d of the image set %q: %w", turn.Number, turn.Name, err)
		}
	}
	return nil
}
