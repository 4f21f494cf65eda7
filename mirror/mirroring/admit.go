package mirroring

import (
	"context"
	"slices"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// An admittedRun is a run that may copy its plan.
type admittedRun struct {
	*plannedRun
	job      *copying.Job
	imported *airgap.Import     // nil without an archive
	expected *cluster.Manifests // the cluster resources after the copy; nil without a registry
	result   *Result
}

// admit decides whether the plan may be copied: whether its content is there, accepted and permitted, and whether the
// image set may use the destination. An archive that is written is prepared.
func (r *openedRun) admit(ctx context.Context, p *plannedRun) (*admittedRun, error) {
	a := &admittedRun{plannedRun: p}
	if r.have != nil {
		if err := r.admitArchive(ctx, a); err != nil {
			return nil, err
		}
	}
	a.format.Accepted = r.accepting.Accepted()
	if err := gates.PassPlanGate(ctx, r.session, r.gates, a.plan, a.sum); err != nil {
		return nil, err
	}
	if to, ok := r.to.(*site.ArchiveDestination); ok {
		if err := prepareArchive(ctx, r.session.Env, r.session, to, r.o, a.plan); err != nil {
			return nil, err
		}
	}
	var err error
	if a.job, err = copying.NewJob(ctx, r.o.OnError, a.plan, r.session, r.have, r.to); err != nil {
		return nil, err
	}
	a.plan = a.job.Plan()
	if a.expected, err = admission.Admit(ctx, r.session, r.to, a.plan, r.o.Name, a.format); err != nil {
		return nil, err
	}
	if err := admission.CheckFormatKept(r.session.Env, r.o.Config != "", r.o.DestFormat, r.to.Registry(), a.plan); err != nil {
		return nil, err
	}
	a.result = &Result{
		Version: 1, Destination: r.o.Destination, PlanDigest: a.sum, PlanSignature: r.approved.Signer(), Plan: a.plan,
		Verified: r.accepting.Accepted().Summary(), Gate: r.gates.Answers(), before: p.before,
	}
	a.result.UnsignedImages, _ = a.plan.Unsigned()
	if r.selected != nil && r.have == nil {
		a.result.Warnings = selection.ConfigProblems(r.selected.Config.Warnings)
	}
	return a, nil
}

// admitArchive makes sure that the content that the archive omits is at the site, and applies the signature policy.
func (r *openedRun) admitArchive(ctx context.Context, a *admittedRun) (err error) {
	if a.imported, err = r.checkImport(ctx, a.plan); err != nil {
		return err
	}
	r.have = a.imported.Archive // another one, if more folders were named
	if a.plan, err = trust.AcceptArchived(ctx, r.session, r.accepting, a.plan, r.have, r.to); err == nil && r.o.RemoveSignatures && r.accepting != nil {
		a.plan, err = a.plan.WithoutSignatures()
	}
	return err
}

// checkReplaced compares the catalogs of a job with those that they replace, warns about what clusters lose, and
// refuses what the options do not permit. Catalogs that are built again during the copy are compared, too.
func (r *openedRun) checkReplaced(ctx context.Context, a *admittedRun) error {
	running, err := planning.Running(ctx, r.session, r.to, &r.o.Selection, a.made, a.plan.Name)
	if err != nil {
		return err
	}
	reader := &admission.ReplacedReader{Session: r.session, To: r.to, Images: a.job.Catalogs, Originals: r.have == nil, Running: running.All}
	check := func(ctx context.Context, p *plan.Plan) error {
		replaced, err := reader.Compare(ctx, p)
		if err != nil {
			return err
		}
		for _, c := range replaced {
			a.result.Replaced = slices.DeleteFunc(a.result.Replaced, func(before admission.ReplacedCatalog) bool { return before.Catalog == c.Catalog })
		}
		a.result.Replaced = append(a.result.Replaced, replaced...)
		admission.WarnReplaced(r.session.Env, replaced)
		if err := admission.RefuseOlder(replaced, r.o.AllowOlder); err != nil {
			return err
		}
		if r.o.OnStrand != admission.OnStrandWarn {
			if err := admission.RefuseLost(p, replaced, running.Mirrored); err != nil {
				return err
			}
		}
		return admission.RefuseStranded(replaced, r.o.OnStrand)
	}
	a.job.Again = check
	return check(ctx, a.plan)
}
