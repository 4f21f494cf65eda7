package planning

import (
	"context"
	"errors"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// rebuildGraph builds the image of a plan's graph data, if it is not in the cache of the workspace.
func rebuildGraph(ctx context.Context, s *workspace.Session, g *plan.GraphData, format manifest.Format) error {
	s.Env.Noticef("building the image of graph data again")
	u := updates.NewUpdates(s.Env, s.Client, &imageset.Releases{GraphData: g.Source}, updates.ReleaseTrust{})
	u.Planned = true
	from := s.Sources.Plan()
	from.Releases = u
	err := build.RebuildGraphData(ctx, *g, format, from)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return advice.Wrap(advice.Failure, err, "set Options.Workspace to the workspace that the plan was made in, which has the image, or make the plan again"+
		" (a plan has the address of graph data without user and query, so it cannot be read again with a token)")
}

// VerifyReleases checks the signatures in a plan. They were checked when the plan was made, but the
// file may have been altered since.
func VerifyReleases(s *workspace.Session, p *plan.Plan, trust updates.ReleaseTrust) error {
	updates.WarnTrust(s.Env, trust, len(p.Releases) > 0)
	if trust.IgnoreReleaseSignature {
		return nil
	}
	u := updates.NewUpdates(s.Env, s.Client, nil, trust)
	problems := elements.Map(p.Releases, u.VerifyRelease)
	return errors.Join(problems...)
}
