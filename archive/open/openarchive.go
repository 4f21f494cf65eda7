package open

import (
	"context"
	"errors"
	"os"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Options selects an archive.
type Options struct {
	Env *env.Env
	// Folders are the folders of the archive and of those that it builds on, each as file://DIR.
	Folders []string
	// Sequence is the number of the archive. The default is the newest.
	Sequence int
	// Read says with which signatures and identities archives are read.
	Read archive.OpenOptions
}

// Archive opens an archive to look into it. It may be damaged, and volumes may be missing.
func Archive(o Options) (*archive.Archive, error) {
	dirs, err := Folders("", o.Folders)
	if err != nil {
		return nil, err
	}
	if o.Sequence < 0 {
		return nil, env.InputHint("give the number in the names of its files, or 0 for the newest", "Options.Sequence %d", o.Sequence)
	}
	o.Read.Sequence = o.Sequence
	have, err := archive.InspectWith(o.Read, dirs...)
	var damage *archive.DamageError
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, advice.Wrap(advice.Input, err, "")
	case errors.As(err, &damage):
		return nil, advice.Wrap(advice.Failure, err, "copy these files again from the place where the archive was written")
	}
	return have, err
}

// RequestRepair reads every byte of an archive and returns the request for the content that is damaged
// or lost, and the damage. The request is empty if everything can be read.
func RequestRepair(ctx context.Context, o Options) (*state.RepairRequest, []archive.Damage, error) {
	e, done := o.Env.OrDefault()
	defer done()
	have, err := Archive(o)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = have.Close() }() // only read from
	env.Opened(e.Observer, have)
	damage, err := Read(ctx, e, have)
	if err != nil {
		return nil, nil, err
	}
	request, err := airgap.RequestRepair(ctx, have, damage, o.Sequence != 0, func(sequence int) (*archive.Archive, error) {
		other := o
		other.Sequence = sequence
		return Archive(other)
	})
	return request, damage, err
}
