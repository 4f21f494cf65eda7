package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// checkRepair refuses what says something else than a repair request.
func (f *mirrorFlags) checkRepair(destination string) error {
	switch {
	case !strings.HasPrefix(destination, fileScheme) || len(destination) == len(fileScheme):
		return usageHint("write file://DIR", "--repair writes an archive, and the destination is %q", destination)
	case f.config != "" || f.plan != "" || len(f.from) > 0 || f.given():
		return usageHint("leave -c, --plan and --from out", "--repair says all that is written")
	case f.since != "" || f.full || f.receipt != "":
		return usageHint("leave --since, --full and --receipt out", "--repair says all that is written")
	case f.name != "":
		return usageHint("leave it out", "--name is for a configuration, and the request has a name")
	case f.dryRun:
		return usageHint("leave it out: the request lists all that is written", "--dry-run does not go with --repair")
	}
	f.sign.what = "the repair"
	return errors.Join(f.sign.check(true), f.trust.check(false))
}

// repairResult is what gantry mirror --repair --output json prints.
type repairResult struct {
	Version     int    `json:"version"`
	Destination string `json:"destination"`
	*carry.Repaired
}

// repair writes the archive that a repair request wants.
func (a *app) repair(ctx context.Context, f mirrorFlags, destination string) error {
	opts := carry.RepairOptions{
		Dir:     strings.TrimPrefix(destination, fileScheme),
		Archive: archive.Options{Strict: f.strictArchive, Log: a.log},
		Fatal:   fatal,
	}
	var err error
	if f.volumeSize != "" {
		if opts.Archive.VolumeSize, err = archive.ParseVolumeSize(f.volumeSize); err != nil {
			return usagef("--volume-size: %w", err)
		}
	}
	request, err := carry.ReadRequest(f.repair, len(f.to) > 0)
	if err != nil {
		return err
	}
	if opts.Archive.Encrypt, err = a.encryption(&f.encryptFlags); err != nil {
		return err
	}
	key, err := a.signKey(ctx, f.sign)
	if err != nil {
		return err
	}
	opts.Archive.Sign = signWith(key)
	s, err := a.open(f.inputs, &f.sides)
	if err != nil {
		return err
	}
	defer a.leave(s)
	if opts.Streams, err = f.streams(); err != nil {
		return err
	}
	opts.Watch = func(done func() int64) func() {
		return a.show("repairing", func() progress.Reading {
			return progress.Reading{Images: int64(len(request.Content)), ImagesDone: done()}
		})
	}
	repaired, err := carry.Repair(ctx, s.Workspace, request, s.origin, opts)
	var missed *carry.RepairError
	if errors.As(err, &missed) {
		for _, m := range missed.Missed {
			a.warn("not written: %s\n    %v", m.Digest, m.Err)
		}
	}
	if err != nil {
		return err
	}
	return a.showRepair(repairResult{1, destination, repaired})
}

func (a *app) showRepair(r repairResult) error {
	if a.output == outputJSON {
		return a.encode(r)
	}
	text := fmt.Sprintf("Repair of sequence %d at %s: %s, %s.\nBring it and name its folder beside that of the archive: --from file://DIR --from file://REPAIR.\n",
		r.Sequence, r.Destination, number(r.Content, "manifest or blob", "manifests and blobs"), progress.Bytes(r.Bytes))
	if r.Nothing {
		text = fmt.Sprintf("Nothing to write: the repair of sequence %d is at %s.\n", r.Sequence, r.Destination)
	}
	return a.text(text)
}
