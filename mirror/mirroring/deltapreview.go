package mirroring

import (
	"context"

	"github.com/gantry-mirror/gantry/mirror/site"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// preview finds out what a run would copy.
func preview(ctx context.Context, s *workspace.Session, t site.Destination, o *Options, p *plan.Plan, r *Result) (err error) {
	if r.ToCopy, err = t.Compare(ctx, p); err != nil {
		return err
	}
	if r.PlannedDeltas, err = site.PlanDeltas(t, p); err != nil {
		return err
	}
	return saveMapping(s, t, o.Destination, p, r.ToCopy)
}
