package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

func (a *Archive) createTemporary() error {
	hint := "permit writing there"
	if a.tempDir == "" {
		hint = "set TMPDIR to a folder that can be written to"
	}
	f, err := regular.Temporary(a.tempDir, "gantry-base-*")
	if err != nil {
		return advice.Wrap(advice.Failure, fmt.Errorf("creating a temporary file for blobs that are made from deltas: %w", err), hint)
	}
	regular.Discard(f)
	return nil
}

// noSpace adds to the error of a full disk how much the bases of a delta need.
func (a *Archive) noSpace(ctx context.Context, at deltaAt, err error) error {
	if _, ok := errors.AsType[*space.Error](err); ok {
		return err
	}
	file, openErr := a.open(ctx, locations(a.blobs, at.File), 0, layout.Rest)
	if openErr != nil {
		return err
	}
	defer file.Close() // only read from
	h, openErr := delta.ReadHeader(file)
	if openErr != nil {
		return err
	}
	var needed int64
	for _, b := range h.Bases {
		needed += b.ContentSize
	}
	return space.Full(space.Free, cmp.Or(a.tempDir, os.TempDir()), needed, err)
}
