package mirroring

import (
	"context"
	"errors"
	"os"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/repositories"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// A plannedRun is what a run found out about its plan.
type plannedRun struct {
	plan    *plan.Plan
	sum     digest.Digest
	made    *selection.Selected       // what the plan was made from; nil for an archive
	prepare *repositories.Preparation // creates repositories; nil if the registry does
	format  cluster.ManifestOptions   // of the cluster resources
	before  *plan.Outline             // the plan before, for Options.Page; nil if it is unknown
}

// plan makes or reads the plan, and finds out what the registry and the workspace know of its image set.
func (r *openedRun) plan(ctx context.Context) (*plannedRun, error) {
	out := &plannedRun{made: planning.MadeFrom(r.selected, r.have)}
	checked := r.to
	if r.o.ResourcesOnly {
		r.to.Registry().Offline = r.again != nil
		checked = nil
	}
	if r.o.Page && r.to.Registry() == nil && r.o.Config != "" {
		out.before = planning.LastOutline(r.session, selection.PlanName(r.o.Name, r.o.Config)) // this run replaces it
	}
	var err error
	if out.prepare, err = preparation(ctx, r.session.Env, r.o, r.to); err != nil {
		return nil, err
	}
	if out.plan, err = site.Planned(ctx, checked, !r.o.DryRun, r.makePlan); err != nil {
		return nil, err
	}
	if to := r.to.Registry(); to != nil {
		if err := site.KnowRecords(ctx, r.session, to, r.o.ResourcesOnly); err != nil {
			return nil, err
		}
		if r.o.Page && !r.o.ResourcesOnly {
			out.before = recordedOutline(ctx, to, out.plan.Name)
		}
		if err := cluster.NameObjects(r.session, to, r.o.Workspace, out.plan.Name, r.o.ResourceName, !r.o.DryRun); err != nil {
			return nil, err
		}
	}
	if out.sum, err = r.approved.DigestOf(out.plan); err != nil {
		return nil, err
	}
	r.recorded.planned(out.plan.Name, out.sum, r.o.writesNothing())
	out.format, err = r.manifestOptions()
	return out, err
}

// recordedOutline returns the outline of the plan that a mirror has recorded for an image set; nil if there is none that can be
// read.
func recordedOutline(ctx context.Context, to *site.RegistryDestination, name string) *plan.Outline {
	last, err := setrecord.Last(ctx, to.ImageSets(), name)
	if err != nil || last == nil {
		return nil
	}
	p, err := site.ReadRecordedPlan(ctx, to.ImageSets(), last)
	if err != nil {
		return nil
	}
	return p.Outline()
}

// makePlan returns the plan of the archive, the one in the file that was approved, or one that is made from the
// configuration.
func (r *openedRun) makePlan(ctx context.Context) (*plan.Plan, error) {
	o := r.o
	switch {
	case r.have != nil:
		return r.archivedPlan(ctx)
	case r.approved != nil:
		return r.approvedPlan(ctx)
	}
	return planning.MakeFor(ctx, r.session, r.to, planning.Options{
		Selection: o.Selection, ReleaseTrust: o.ReleaseTrust, ImageTrust: o.ImageTrust, Name: o.Name, RemoveSignatures: o.RemoveSignatures, EveryTag: o.ChecksBlobs(),
	}, r.accepting, r.gates, r.selected, !o.DryRun || !o.Any())
}

// archivedPlan reads the plan of the archive, and reduces it to what the configuration selects, if there is one. If a policy
// is applied to it, the plan has the signatures even with RemoveSignatures: they are verified first.
func (r *openedRun) archivedPlan(ctx context.Context) (*plan.Plan, error) {
	p, err := airgap.ReadPlan(ctx, r.have)
	if errors.Is(err, os.ErrNotExist) && r.to.Registry() != nil {
		p, err = airgap.ImportedPlan(r.session.Workspace, r.to.Registry().Key(), r.have, err)
	}
	if err == nil {
		p, err = r.selectedPart(ctx, p)
	}
	if err == nil {
		err = planning.VerifyReleases(r.session, p, r.o.ReleaseTrust)
	}
	if err == nil && r.o.RemoveSignatures && r.accepting == nil {
		p, err = p.WithoutSignatures()
	}
	if err != nil {
		return nil, err
	}
	return selection.Rename(p, r.o.Name).WithDigestTags(), nil
}

// approvedPlan returns the plan that was approved, with the images that the signature policy and the gate accept.
func (r *openedRun) approvedPlan(ctx context.Context) (*plan.Plan, error) {
	p, err := planning.LoadPlan(ctx, r.session, r.approved.Plan, r.o.ReleaseTrust)
	if err == nil {
		p, err = trust.AcceptSources(ctx, r.session, r.accepting, p)
	}
	if err == nil {
		p, err = gates.PassGate(ctx, r.session, r.gates, p)
	}
	if err == nil && r.o.RemoveSignatures {
		p, err = p.WithoutSignatures()
	}
	if err != nil {
		return nil, err
	}
	if p = selection.Rename(p, r.o.Name).WithDigestTags(); !r.o.DryRun {
		err = r.session.SavePlan(p.Name, p.Write)
	}
	return p, err
}

// approval returns which plan the run copies. Archives have their plan, and trial runs copy nothing.
func (o *Options) approval() signing.Approval {
	a := signing.Approval{Plan: o.Plan, RequireSignedPlan: o.RequireSignedPlan, Trust: o.Trust}
	if !o.reads() && !o.DryRun {
		a.Config = o.Config
	}
	return a
}

// manifestOptions returns how the cluster resources of the run are written.
func (r *openedRun) manifestOptions() (cluster.ManifestOptions, error) {
	if r.again == nil {
		return r.o.Manifests(), nil
	}
	to := r.to.Registry()
	saved, err := r.session.ManifestOptions(to.Key())
	if err != nil {
		return cluster.ManifestOptions{}, err
	}
	to.AliasOf = saved.AliasOf
	return r.again.Over(saved)
}
