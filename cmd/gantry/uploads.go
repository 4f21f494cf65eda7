package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

const (
	// cancels is how many uploads are cancelled at the same time.
	cancels = 8
	// cancelTime is how long a run may take for that, before it copies and after.
	cancelTime = 10 * time.Second
)

// suppose enters into the journal what uploads that were left open were to bring: the
// run may have been killed while their last answer was on its way.
func suppose(r *registryTarget, p *plan.Plan, uploads *workspace.Uploads, journal *workspace.Journal) error {
	left := uploads.Left()
	if len(left) == 0 {
		return nil
	}
	names, err := r.Names(p)
	if err != nil {
		return &usageError{err}
	}
	repositories := map[string]string{}
	for repository, at := range names {
		repositories[at.Name()] = repository
	}
	for _, u := range left {
		if repository, ok := repositories[u.Repository]; ok {
			err = errors.Join(err, journal.Suppose(repository, u.Blob))
		}
	}
	return err
}

// cancelLeft has the registry forget the uploads that are open: before a run those that
// earlier ones left since they were killed, after it those that could not be cancelled
// while it went on. Each is tried once, unless the registry is not there or takes too
// long: the next run tries those, and it forgets them by itself some day.
func (a *app) cancelLeft(ctx context.Context, client *remote.Client, uploads *workspace.Uploads) {
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(cancels)
	for _, left := range uploads.Left() {
		g.Go(func() error {
			ref, err := reference.Parse(left.Repository)
			if err == nil {
				err = client.CancelUpload(ctx, ref, left.Blob, left.Location)
			}
			if err != nil {
				a.log.Debug("an upload stays open at the registry", "repository", left.Repository, "digest", left.Blob, "error", err)
			}
			if ctx.Err() == nil && !errors.Is(err, remote.ErrUnreachable) {
				uploads.Ended(left.Location)
			}
			return nil
		})
	}
	_ = g.Wait() // nothing of it is an error of the run
}
