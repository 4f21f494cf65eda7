package planning

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// rebuildFiles makes the artifacts of a plan's files again. Their content is read when it is copied.
func rebuildFiles(ctx context.Context, s *workspace.Session, p *plan.Plan) error {
	for _, f := range p.Files {
		if err := build.RebuildFile(ctx, f, s.Sources.Cache); err != nil {
			return err
		}
	}
	return nil
}
