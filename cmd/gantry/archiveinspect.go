package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
)

func (a *app) archiveInspectCommand() *cobra.Command {
	var to reportFlag
	c := &cobra.Command{
		Use:   "inspect file://DIR...",
		Short: "Show what an archive contains and which volumes it has",
		Long: `Show the number and name of an archive, its signature, the earlier archives that it
builds on, its volumes, and a summary of its plan. Missing volumes are listed and are
not an error. The content of volumes is not read; gantry verify does that.

--report writes a page for people: what is on this disk, how large it is, and why.

` + archiveHelp + `
` + exitCodes(map[int]string{exitMismatch: helpArchive}),
		Example: `  gantry archive inspect file:///media/disk
  gantry archive inspect file:///media/disk1 file:///media/disk2 --allowed-signers allowed_signers
  gantry archive inspect file:///media/disk --sequence 2 -o json
  gantry archive inspect file:///media/disk --report disk.html`,
		Args: cobra.MinimumNArgs(1),
	}
	to.addFlag(c.Flags(), "the archive")
	formFlag(c.Flags(), "format of the result: text or json", outputText, outputJSON)
	return a.archiveVerb(c, func(ctx context.Context, o open.Options) error {
		if err := to.check(); err != nil {
			return err
		}
		result, page, err := inspect.Page(ctx, o)
		if writeErr := to.write(a, page); writeErr != nil {
			return writeErr
		}
		return show(a, result, err, func(r *inspect.Inspection) string { return view.Inspection(r, a.columns()) })
	})
}
