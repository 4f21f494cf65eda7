package open

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// Read reads every byte of an archive and returns what is damaged.
func Read(ctx context.Context, e *env.Env, have *archive.Archive) ([]archive.Damage, error) {
	var done atomic.Int64
	stop := env.Show(e.Observer, "checking", func() progress.Reading {
		return progress.Reading{Total: have.Size(), Done: done.Load(), Moved: done.Load()}
	})
	err := have.Verify(ctx, func(n int64) { done.Add(n) })
	stop()
	var damage *archive.DamageError
	if errors.As(err, &damage) {
		return damage.Damage, nil
	}
	return nil, err
}
