package gantry

import (
	"context"

	"github.com/gantry-mirror/gantry/plan"
)

// resourcesOnly writes r, the cluster resources for a plan, as if it had been copied to a registry. The
// record of the mirror does not change, since nothing was copied.
func (s *Session) resourcesOnly(ctx context.Context, o *MirrorOptions, t *RegistryDestination, p *plan.Plan, r *clusterResources) (*MirrorResult, error) {
	written, err := s.writeResources(ctx, t, r, false)
	if err != nil {
		return nil, err
	}
	return &MirrorResult{Version: 1, Destination: o.Destination, Plan: p, Notes: p.Notes, Blocked: len(p.Blocked), Withheld: namesMissing(p), Resources: written}, nil
}
