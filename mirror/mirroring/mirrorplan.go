package mirroring

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror/site"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// planFor makes or reads the plan. approved is the one that was read for MirrorOptions.Plan, or nil. have is
// the archive that contains it, or nil. If a policy is
// applied to an archive, its plan has the signatures even with RemoveSignatures: they are verified first.
func planFor(ctx context.Context, s *workspace.Session, o Options, accepting *trust.SignaturePolicy, g *gates.Programs, selected *selection.Selected, approved *signing.ApprovedPlan, have *archive.Archive, t site.Destination) (*plan.Plan, error) {
	switch {
	case have != nil:
		if o.Config != "" {
			s.Env.Sayf("the plan in %s is mirrored; %s was only checked", strings.Join(o.From, ", "), o.Config)
		}
		p, err := airgap.ReadPlan(ctx, have)
		if errors.Is(err, os.ErrNotExist) && t.Registry() != nil {
			p, err = airgap.ImportedPlan(s.Workspace, t.Registry().Key(), have, err)
		}
		if err == nil {
			err = planning.VerifyReleases(s, p, o.ReleaseTrust)
		}
		if err == nil && o.RemoveSignatures && accepting == nil {
			p, err = p.WithoutSignatures()
		}
		if err != nil {
			return nil, err
		}
		return selection.Rename(p, o.Name).WithDigestTags(), nil
	case approved != nil:
		p, err := planning.LoadPlan(ctx, s, approved.Plan, o.ReleaseTrust)
		if err == nil {
			p, err = trust.AcceptSources(ctx, s, accepting, p)
		}
		if err == nil {
			p, err = gates.PassGate(ctx, s, g, p)
		}
		if err == nil && o.RemoveSignatures {
			p, err = p.WithoutSignatures()
		}
		if err != nil {
			return nil, err
		}
		if p = selection.Rename(p, o.Name).WithDigestTags(); !o.DryRun {
			err = s.SavePlan(p.Name, p.Write)
		}
		return p, err
	default:
		return planning.MakeFor(ctx, s, t, planning.Options{Selection: o.Selection, ReleaseTrust: o.ReleaseTrust, ImageTrust: o.ImageTrust, Name: o.Name, RemoveSignatures: o.RemoveSignatures, EveryTag: o.CheckBlobs || o.ReadBlobs || o.RepairMissing}, accepting, g, selected, !o.DryRun || !o.Any())
	}
}

// approval returns which plan the run copies. Archives have their plan, and trial runs copy nothing.
func (o *Options) approval() signing.Approval {
	a := signing.Approval{Plan: o.Plan, RequireSignedPlan: o.RequireSignedPlan, Trust: o.Trust}
	if len(o.From) == 0 && !o.DryRun {
		a.Config = o.Config
	}
	return a
}
