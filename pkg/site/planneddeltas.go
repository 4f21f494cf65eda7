package site

import (
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// PlannedDeltas tells what an archive may carry as deltas.
type PlannedDeltas = airgap.PlannedDeltas

// PlanDeltas returns what an archive would compare with what the site has; nil for other destinations.
func PlanDeltas(t Destination, p *plan.Plan) (*PlannedDeltas, error) {
	if to, ok := t.(*ArchiveDestination); ok {
		return to.Export.PlanDeltas(p)
	}
	return nil, nil
}
