package mirroring

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/registry"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// preparation returns the preparation of a run and creates the repositories of Gantry, which planning
// reads; nil if nothing is to be created.
func preparation(ctx context.Context, e *env.Env, o *Options, t site.Destination) (*registry.Preparation, error) {
	if !o.CreateRepositories || o.writesNothing() {
		return nil, nil
	}
	p, err := registry.PrepareMirror(ctx, e, t.Registry(), o.API, false)
	if err != nil {
		return nil, err
	}
	return p, p.CreateFor(ctx, nil)
}
