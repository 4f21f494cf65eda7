package mirroring

import (
	"context"
	"strings"

	"github.com/gantry-mirror/gantry/archive/program"
	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/plan/admission"
)

// lease takes the lease of a registry, so that no other run writes to it. The context ends when the lease is lost.
func (r *openedRun) lease(ctx context.Context, a *admittedRun) (leased context.Context, release func(), err error) {
	to := r.to.Registry()
	if to == nil {
		return ctx, func() {}, nil
	}
	if err := a.prepare.CreateFor(ctx, a.plan); err != nil {
		return nil, nil, err
	}
	return site.Lease(ctx, r.session, to)
}

// prepareCopy admits the run again, since other runs may have used the registry before it had the lease, and writes the
// program beside an archive.
func (r *openedRun) prepareCopy(ctx context.Context, a *admittedRun) (err error) {
	if to := r.to.Registry(); to != nil {
		if err := admission.AdmitAgain(ctx, r.session, to, a.plan, r.o.Name, a.format); err != nil {
			return err
		}
		if r.o.Finish != 0 {
			if err := checkFinish(ctx, to, r.o.Finish, r.approved, a.plan); err != nil {
				return err
			}
		}
	}
	if r.o.WithGantry != "" {
		a.result.Program, err = program.Add(ctx, r.o.WithGantry, strings.TrimPrefix(r.o.Destination, env.ArchiveScheme), r.o.SigningKey)
	}
	return err
}

// copy copies what the destination does not have. Afterwards the plan is what was copied: with
// selection.OnErrorPackage, it may have been reduced.
func (r *openedRun) copy(ctx context.Context, a *admittedRun) (err error) {
	a.job.Announce = func(ctx context.Context) { site.AnnounceRun(ctx, r.session, r.to.Registry(), a.job.Plan()) }
	a.result.Report, a.result.Transfer, err = copying.Run(ctx, r.session, a.job, copying.Options{Rules: r.o.Rules, Found: a.result.foundMissing})
	a.plan = a.job.Plan()
	return err
}
