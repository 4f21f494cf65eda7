package gantry

import (
	"context"
	"errors"
	"strings"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/redact"
)

// checkRepair returns an error if other options contradict Repair.
func (o *MirrorOptions) checkRepair() error {
	switch {
	case !o.toArchive() || len(o.Destination) == len(ArchiveScheme):
		return inputHint("write file://DIR", "Options.Repair writes an archive, and the destination is %q", redact.Address(o.Destination))
	case o.Config != "" || o.Plan != "" || len(o.From) > 0 || o.any():
		return inputHint("set Options.Repair without them", "Options.Repair cannot be combined with Options.Config, Options.Plan, Options.From, Options.Installed, Options.Dependencies, Options.CompleteRelatedImages and Options.PlatformsMode")
	case o.Since != "" || o.Full || o.Receipt != "":
		return inputHint("set Options.Repair without them", "Options.Repair cannot be combined with Options.Since, Options.Full and Options.Receipt")
	case o.Name != "":
		return inputHint("leave it out", "Options.Name is for a configuration; the request has a name")
	case o.RemoveSignatures:
		return inputHint("leave it out: the request lists everything that is written", "Options.RemoveSignatures cannot be combined with Options.Repair")
	case o.WithGantry != "":
		return inputHint("leave it out", "Options.WithGantry cannot be combined with Options.Repair")
	case o.DryRun:
		return inputHint("leave it out: the request lists everything that is written", "Options.DryRun cannot be combined with Options.Repair")
	}
	return nil
}

// repair writes the archive that a repair request asks for.
func (e *Env) repair(ctx context.Context, o MirrorOptions) (*MirrorResult, error) {
	opts := airgap.RepairOptions{
		Dir:     strings.TrimPrefix(o.Destination, ArchiveScheme),
		Archive: archive.Options{Strict: o.StrictArchive, VolumeSize: o.VolumeSize, Encrypt: o.EncryptTo, Sign: signWith(o.SigningKey), Log: e.logger()},
		Fatal:   Fatal,
	}
	request, err := airgap.ReadRequest(o.Repair, o.EncryptTo != nil)
	if err != nil {
		return nil, err
	}
	if err := o.ReleaseTrust.check(); err != nil {
		return nil, err
	}
	s, err := e.OpenSession(workspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer s.release()
	if opts.Streams, err = e.Streams(); err != nil {
		return nil, err
	}
	opts.Watch = func(done func() int64) func() {
		return e.show("repairing", func() progress.Reading {
			return progress.Reading{Images: int64(len(request.Content)), ImagesDone: done()}
		})
	}
	repaired, err := airgap.Repair(ctx, s.Workspace, request, s.sources.Origin, opts)
	var missed *airgap.RepairError
	if errors.As(err, &missed) {
		for _, m := range missed.Failed {
			e.warn("not written: %s\n    %v", m.Digest, m.Err)
		}
	}
	if err != nil {
		return nil, err
	}
	return &MirrorResult{Version: 1, Destination: o.Destination, Repaired: repaired}, nil
}
