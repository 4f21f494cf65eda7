package gantry

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/plan"
)

// PlannedDeltas tells what an archive may carry as deltas.
type PlannedDeltas = airgap.PlannedDeltas

// preview finds out what a run would copy.
func (s *Session) preview(ctx context.Context, t Destination, o *MirrorOptions, p *plan.Plan, r *MirrorResult) (err error) {
	if r.ToCopy, err = t.Compare(ctx, p); err != nil {
		return err
	}
	if r.PlannedDeltas, err = plannedDeltas(t, p); err != nil {
		return err
	}
	return s.saveMapping(t, o.Destination, p, r.ToCopy)
}

// plannedDeltas returns what an archive would compare with what the site has; nil for other destinations.
func plannedDeltas(t Destination, p *plan.Plan) (*PlannedDeltas, error) {
	if to, ok := t.(*archiveDestination); ok {
		return to.export.PlanDeltas(p)
	}
	return nil, nil
}
