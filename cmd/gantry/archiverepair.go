package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

func (a *app) archiveRepairRequestCommand() *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "repair-request file://DIR... [--to FILE]",
		Short: "Request content that was damaged or lost",
		Long: `Read every byte of an archive, and write a small file that lists the manifests and blobs
that cannot be read. Take the file to the connected side and run

  gantry mirror --repair FILE file://DIR

there. It writes only the missing content. Name the folder with it beside the damaged
one, and the archive is complete again. If the archive is complete, no file is written.

A repair request cannot replace a set manifest (the .json file). Copy it again from the
place where the archive was written.

` + archiveHelp + `
` + exitCodes(map[int]string{
			exitOK:       "the archive is complete; there is nothing to request",
			exitMismatch: "content is damaged or lost, and the request was written; or\n" + helpArchive,
		}),
		Example: `  gantry archive repair-request file:///media/disk --to request.json
  gantry archive repair-request file:///media/disk1 file:///media/disk2 > request.json
  gantry mirror --repair request.json file:///media/repair
  gantry mirror --from file:///media/disk --from file:///media/repair docker://mirror.example.com:5000/ocp`,
		Args: cobra.MinimumNArgs(1),
	}
	a.addFile(c.Flags(), &to, "to", "file to write (default: stdout)")
	return a.archiveVerb(c, func(ctx context.Context, o open.Options) error { return a.archiveRepairRequest(ctx, o, to) })
}

func (a *app) archiveRepairRequest(ctx context.Context, o open.Options, to string) error {
	request, damage, err := open.RequestRepair(ctx, o)
	if err != nil {
		return err
	}
	where := strings.Join(o.Folders, ", ")
	if request.IsEmpty() {
		for _, d := range damage {
			a.warn("damaged, but without loss of content: %s", d)
		}
		a.say("nothing to request: all content in %s can be read", where)
		return nil
	}
	if to == "" || to == toStdout {
		err = request.Write(a.stdout)
	} else {
		err = durable.Write(to, request.Write)
	}
	if err != nil {
		return fmt.Errorf("writing the repair request: %w", err)
	}
	what := view.Number(len(request.Content), "manifest or blob", "manifests and blobs")
	if request.PlanLost {
		what += " and the plan"
	}
	return advice.New(advice.Mismatch, "take the request to the connected side and run gantry mirror --repair FILE file://DIR there", "%[2]s (%[3]s) of sequence %[4]d are missing from the archive in %[1]s", where, what, progress.Bytes(request.Bytes()), request.Sequence)
}
