package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/workspace"
)

const (
	// cancels is how many uploads are cancelled at the same time.
	cancels = 8
	// cancelTime is how long a run may take for that before it begins.
	cancelTime = 10 * time.Second
)

// cancelLeft has the registry forget the uploads that earlier runs left open,
// since they were killed. Each is tried once, unless the registry is not there or
// takes too long: the next run tries those, and it forgets them by itself some day.
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
