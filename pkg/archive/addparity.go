package archive

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/state"
)

// AddParity writes parity files for the volumes of a complete set, whose volumes are all in the folder dir,
// unless they are already there. opts.Redundancy is the percentage.
func AddParity(ctx context.Context, dir string, set state.SetRef, opts Options) error {
	if err := opts.setDefaults(); err != nil {
		return err
	}
	return addParity(ctx, dir, set.Sequence, &opts)
}
