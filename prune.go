package gantry

import (
	"context"
	"time"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/env"
)

// PruneOptions says what a mirror still needs.
type PruneOptions struct {
	Env *Env
	// Mirror is the registry.
	Mirror Place
	// Workspace is the folder whose records and cluster resources are changed, too. The default is
	// gantry-workspace.
	Workspace string
	// MaxNestedPaths is the one that the mirror was filled with.
	MaxNestedPaths int
	// KeepLast is how many revisions of each image set are needed, the current one included; 0 means 1.
	KeepLast int
	// OlderThan keeps what an image set needed at any time in this period.
	OlderThan time.Duration
	// Forget is an image set that was given up: what only it needed is no longer needed.
	Forget string
}

// A PruneResult is what is not needed, and what of it was deleted.
type PruneResult = removal.PruneResult

// Unneeded lists what Prune would delete. It changes nothing.
func Unneeded(ctx context.Context, o PruneOptions) (*PruneResult, error) { return o.run(ctx, false) }

// Prune deletes from a mirror what no image set that it has a record of needs. If some content could not be
// deleted, it returns the result and an error of kind advice.Partial.
func Prune(ctx context.Context, o PruneOptions) (*PruneResult, error) { return o.run(ctx, true) }

func (o *PruneOptions) run(ctx context.Context, deletes bool) (*PruneResult, error) {
	if err := o.Mirror.check("PruneOptions.Mirror", "a registry", env.RegistryScheme); err != nil {
		return nil, err
	}
	result, err := removal.Prune(ctx, removal.PruneOptions{
		Env: o.Env, Mirror: o.Mirror.String(), Workspace: o.Workspace, MaxNestedPaths: o.MaxNestedPaths, Yes: deletes,
		KeepLast: o.KeepLast, OlderThan: o.OlderThan, Forget: o.Forget,
	})
	return result, wordsOf[PruneOptions, removal.PruneOptions](nil).of(err)
}
