package mirroring

import (
	"context"

	"github.com/gantry-mirror/gantry/mirror/site"
	"github.com/gantry-mirror/gantry/pkg/cluster"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// resourcesOnly writes r, the cluster resources for a plan, as if it had been copied to a registry. The
// record of the mirror does not change, since nothing was copied.
func resourcesOnly(ctx context.Context, s *workspace.Session, o *Options, t *site.RegistryDestination, p *plan.Plan, r *cluster.Manifests) (*Result, error) {
	written, err := cluster.WriteResources(ctx, s, t, r, false)
	if err != nil {
		return nil, err
	}
	return &Result{Version: 1, Destination: o.Destination, Plan: p, Notes: p.Notes, Blocked: len(p.Blocked), Withheld: site.NamesMissing(p), Resources: written}, nil
}
