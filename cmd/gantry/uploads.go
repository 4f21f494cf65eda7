package main

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/workspace"
)

// cancels is how many uploads are cancelled at the same time.
const cancels = 8

// cancelLeft has the registry forget the uploads that earlier runs left open,
// since they were killed. Each is tried once, unless the registry is not there:
// it forgets them by itself some day.
func (a *app) cancelLeft(ctx context.Context, client *remote.Client, uploads *workspace.Uploads) {
	var g errgroup.Group
	g.SetLimit(cancels)
	for _, left := range uploads.Left() {
		g.Go(func() error {
			ref, err := reference.Parse(left.Repository)
			if err == nil {
				err = client.CancelUpload(ctx, ref, left.Blob, left.Location)
			}
			if err != nil {
				a.log.Debug("an upload of an earlier run stays open", "err", err)
			}
			if ctx.Err() == nil && !errors.Is(err, remote.ErrUnreachable) {
				uploads.Ended(left.Location)
			}
			return nil
		})
	}
	_ = g.Wait() // nothing of it is an error of the run
}
