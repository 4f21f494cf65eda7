package copying

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state"
)

const (
	// cancels is how many uploads are cancelled at the same time.
	cancels = 8
	// cancelTime is how long a run may take for that, before it copies and after.
	cancelTime = 10 * time.Second
)

// assumePushed adds the blobs of uploads of earlier runs to the journal: a run may have been killed before it received the last
// response, or before it wrote to the journal.
func assumePushed(r *site.RegistryDestination, p *plan.Plan, uploads *state.Uploads, journal *state.Journal) error {
	left := uploads.Earlier()
	if len(left) == 0 {
		return nil
	}
	names, err := r.Repositories(p)
	if err != nil {
		return advice.Wrap(advice.Input, err, "")
	}
	repositories := map[string]string{}
	for repository, at := range names {
		repositories[at.Name()] = repository
	}
	for _, u := range left {
		if repository, ok := repositories[u.Repository]; ok && !journal.Has(repository, u.Blob) {
			err = errors.Join(err, journal.Assume(repository, u.Blob))
		}
	}
	return err
}

// cancelUploads cancels uploads that are open at the registry: before a run, those of killed runs;
// after it, those that could not be cancelled during the run. Each is tried once, unless the
// registry is unreachable or takes too long. The next run tries those again, and registries expire
// them. It reports those that cannot be cancelled because their location is unknown.
func cancelUploads(ctx context.Context, e *env.Env, client *remote.Client, uploads *state.Uploads) {
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(cancels)
	for _, left := range uploads.Pending() {
		g.Go(func() error {
			ref, err := reference.Parse(left.Repository)
			if err == nil {
				err = client.CancelUpload(ctx, ref, left.Blob, left.Location)
			}
			if err != nil {
				e.Logger().Debug("an upload stays open at the registry", "repository", left.Repository, "digest", left.Blob, "error", err)
			}
			if ctx.Err() == nil && !errors.Is(err, remote.ErrUnreachable) {
				uploads.Ended(left.Location)
			}
			return nil
		})
	}
	_ = g.Wait() // uploads that stay open are not an error of the run
	if n, repositories := uploads.Lost(); n > 0 {
		const most = 5
		if rest := len(repositories) - most; rest > 0 {
			repositories = append(repositories[:most:most], fmt.Sprintf("%d more", rest))
		}
		e.Noticef("up to %d uploads may stay open in %s: the registry's responses with their locations did not arrive; it deletes them after some days (CNCF distribution: storage.maintenance.uploadpurging)",
			n, strings.Join(repositories, ", "))
		uploads.ForgetLost()
	}
}
