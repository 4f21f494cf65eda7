package site

import (
	"cmp"
	"context"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// During makes a plan while it finds out how the registry is reached and how it authenticates, and
// whether it accepts the credentials, for a push or for pulls alone. If it cannot be reached or refuses
// them, planning ends at once. path is a repository, or a prefix of repositories.
func (t *RegistryDestination) During(ctx context.Context, path string, push bool, plan func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var g sync.WaitGroup
	var refused error
	reached := make(chan struct{})
	t.reached = reached
	g.Go(func() {
		err := t.Client.CheckAccess(ctx, reference.Reference{Host: t.Host, Path: path}, push)
		if err != nil && ctx.Err() == nil {
			refused = err
			cancel(err)
			return
		}
		close(reached)
	})
	err := plan(ctx)
	if err != nil {
		cancel(err)
	}
	g.Wait()
	return cmp.Or(refused, err)
}

// IsReached waits until the registry was reached. It returns false if this run does not connect to it.
func (t *RegistryDestination) IsReached(ctx context.Context) (bool, error) {
	if t.reached == nil {
		return false, nil
	}
	select {
	case <-t.reached:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// Planned calls makePlan, and meanwhile checks whether a destination that is a registry can be reached
// and accepts the credentials, for a push or for pulls alone. The destination may be nil.
func Planned(ctx context.Context, t Destination, push bool, makePlan func(context.Context) (*plan.Plan, error)) (p *plan.Plan, err error) {
	if t == nil || t.Registry() == nil {
		return makePlan(ctx)
	}
	err = t.Registry().During(ctx, t.Registry().Prefix, push, func(ctx context.Context) (err error) {
		p, err = makePlan(ctx)
		return err
	})
	return p, err
}
