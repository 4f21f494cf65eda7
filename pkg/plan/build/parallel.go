package build

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// each calls do for 0 to n-1, a few at a time, and joins the errors in this order.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	return eachOf(ctx, n, maxCatalogs, do)
}

// eachOf is each with a number of calls at the same time.
func eachOf(ctx context.Context, n, jobs int, do func(ctx context.Context, i int) error) error {
	problems := make([]error, n)
	inTurn(n, jobs, func(i int) { problems[i] = do(ctx, i) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(problems...)
}

// collect is eachOf for calls that return a value, in this order.
func collect[T any](ctx context.Context, n, jobs int, do func(ctx context.Context, i int) (T, error)) ([]T, error) {
	all := make([]T, n)
	return all, eachOf(ctx, n, jobs, func(ctx context.Context, i int) (err error) {
		all[i], err = do(ctx, i)
		return err
	})
}

// inTurn calls do for 0 to n-1 in jobs goroutines. One goroutine for each call would grow its stack for each.
func inTurn(n, jobs int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, jobs) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	group.Wait()
}
