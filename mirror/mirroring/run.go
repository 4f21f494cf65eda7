package mirroring

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// run is Run without reports: open, plan, admit, copy, publish, record. again are the options of Resources, which
// changes those of the last run; nil in a run of Mirror.
func run(ctx context.Context, o Options, again *cluster.ResourcesOptions) (done *Result, failure error) {
	e, closeEnv := o.Env.OrDefault()
	defer closeEnv()
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Repair != "" {
		return repair(ctx, e, o)
	}
	in, err := readInputs(ctx, e, &o)
	if err != nil {
		return nil, err
	}
	if (o.Shard != plan.Shard{}) {
		return mirrorShard(ctx, e, o, in)
	}

	r, err := openRun(e, &o, in, again)
	if err != nil {
		return nil, err
	}
	defer r.close()
	defer func() { failure = r.recorded.end(ctx, &o, done, failure) }()
	if err := r.recorded.begin(&o); err != nil {
		return nil, err
	}

	p, err := r.plan(ctx)
	if err != nil {
		return nil, err
	}
	if o.ResourcesOnly {
		return r.resourcesOnly(ctx, p)
	}

	defer func() { r.drawGraphs(ctx, done) }()
	a, err := r.admit(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := r.checkReplaced(ctx, a); err != nil {
		return a.result, err
	}
	if o.DryRun {
		return r.preview(ctx, a)
	}

	leased, release, err := r.lease(ctx, a)
	if err != nil {
		return nil, err
	}
	defer release()
	defer func() { failure = site.Lost(leased, r.to.Registry(), failure) }()
	if err := r.prepareCopy(leased, a); err != nil {
		return nil, err
	}
	if err := r.copy(leased, a); err != nil {
		return a.result, err
	}
	if err := r.publish(leased, a); err != nil {
		return nil, err
	}
	if err := r.record(leased, a); err != nil {
		return nil, err
	}
	return a.result, r.finish(leased, a)
}
