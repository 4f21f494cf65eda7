package gantry

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/plan"
)

// planFor makes or reads the plan. approved is the one that was read for MirrorOptions.Plan, or nil. have is
// the archive that contains it, or nil. If a policy is
// applied to an archive, its plan has the signatures even with RemoveSignatures: they are verified first.
func (s *Session) planFor(ctx context.Context, o MirrorOptions, trust *imagePolicy, g *gates, selected *Selected, approved *approvedPlan, have *archive.Archive, t Destination) (*plan.Plan, error) {
	switch {
	case have != nil:
		if o.Config != "" {
			s.env.say("the plan in %s is mirrored; %s was only checked", strings.Join(o.From, ", "), o.Config)
		}
		p, err := airgap.ReadPlan(ctx, have)
		if errors.Is(err, os.ErrNotExist) && t.Registry() != nil {
			p, err = airgap.ImportedPlan(s.Workspace, t.Registry().Key(), have, err)
		}
		if err == nil {
			err = s.verifyReleases(p, o.ReleaseTrust)
		}
		if err == nil && o.RemoveSignatures && trust == nil {
			p, err = p.WithoutSignatures()
		}
		if err != nil {
			return nil, err
		}
		return rename(p, o.Name).WithDigestTags(), nil
	case approved != nil:
		p, err := s.loadPlan(ctx, approved.Plan, o.ReleaseTrust)
		if err == nil {
			p, err = s.acceptSources(ctx, trust, p)
		}
		if err == nil {
			p, err = s.passGate(ctx, g, p)
		}
		if err == nil && o.RemoveSignatures {
			p, err = p.WithoutSignatures()
		}
		if err != nil {
			return nil, err
		}
		if p = rename(p, o.Name).WithDigestTags(); !o.DryRun {
			err = s.SavePlan(p.Name, p.Write)
		}
		return p, err
	default:
		return s.makePlan(ctx, t, PlanOptions{Selection: o.Selection, ReleaseTrust: o.ReleaseTrust, ImageTrust: o.ImageTrust, Name: o.Name, RemoveSignatures: o.RemoveSignatures, everyTag: o.CheckBlobs || o.ReadBlobs || o.RepairMissing}, trust, g, selected, !o.DryRun || !o.any())
	}
}

// approval returns which plan the run copies. Archives have their plan, and trial runs copy nothing.
func (o *MirrorOptions) approval() approval {
	a := approval{Plan: o.Plan, RequireSignedPlan: o.RequireSignedPlan, Trust: o.Trust}
	if len(o.From) == 0 && !o.DryRun {
		a.Config = o.Config
	}
	return a
}
