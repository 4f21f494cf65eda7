package mirroring

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// preview is the end of a dry run: it finds out what a run would copy and publish.
func (r *openedRun) preview(ctx context.Context, a *admittedRun) (*Result, error) {
	result := a.result
	var err error
	if a.expected != nil {
		if result.Resources, err = r.previewResources(ctx, a.expected); err != nil {
			return nil, err
		}
	}
	if result.ToCopy, err = r.to.Compare(ctx, a.plan); err != nil {
		return nil, err
	}
	if result.PlannedDeltas, err = site.PlanDeltas(r.to, a.plan); err != nil {
		return nil, err
	}
	if err := saveMapping(r.session, r.to, r.o.Destination, a.plan, result.ToCopy); err != nil {
		return nil, err
	}
	if requested := a.job.Requested(); len(requested.Missing) > 0 {
		return result, admission.NewPlannedError(requested, r.o.OnError)
	}
	return result, nil
}

// previewResources returns the cluster resources after the copy. In the layout of oc mirror it also writes them, as that
// tool does, unless the workspace has those of a mirror that was filled: they name catalogs by digest, and the new ones
// are not in the mirror yet.
func (r *openedRun) previewResources(ctx context.Context, expected *cluster.Manifests) (*cluster.ResourceFiles, error) {
	to := r.to.Registry()
	if r.session.UsesLayout() != state.OCMirrorLayout {
		return cluster.PreviewResources(r.session, to, expected)
	}
	mirrored, err := r.session.RecordNames(to.Key())
	switch {
	case err != nil:
		return nil, err
	case len(mirrored) > 0:
		return cluster.PreviewResources(r.session, to, expected)
	}
	return cluster.WriteResources(ctx, r.session, to, expected, false)
}

// resourcesOnly is the end of a run with ResourcesOnly: it writes the cluster resources for a plan, as if it had been
// copied to a registry. The record of the mirror does not change, since nothing was copied.
func (r *openedRun) resourcesOnly(ctx context.Context, p *plannedRun) (*Result, error) {
	p.format.Accepted = r.accepting.Accepted()
	expected, err := admission.Admit(ctx, r.session, r.to, p.plan, r.o.Name, p.format)
	if err != nil {
		return nil, err
	}
	written, err := cluster.WriteResources(ctx, r.session, r.to.Registry(), expected, false)
	if err != nil {
		return nil, err
	}
	return &Result{Version: 1, Destination: r.o.Destination, Plan: p.plan, Notes: p.plan.Notes, Blocked: len(p.plan.Blocked), Withheld: site.NamesMissing(p.plan), Resources: written}, nil
}
