package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/archive/rebuild"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
)

func (a *app) archiveRebuildCommand() *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "rebuild file://DIR... [--to DIR]",
		Short: "Rebuild lost or damaged volumes from parity files",
		Long: `Read all volumes and parity files of an archive that was written with
gantry mirror --redundancy, and rebuild volumes that are missing or damaged. Any volumes
can be rebuilt, as many as there are intact parity files; of volumes with damaged places,
more, if the places are different ones. If too much is lost, nothing is written, and the
damaged files are named.

A rebuilt volume is compared with the set manifest, and then replaces the damaged file. If
the disk is read-only, write the volumes to another folder with --to, and name that folder
before the others when the archive is read.

` + archiveHelp + `
` + exitCodes(map[int]string{
			exitOK:       "all volumes are intact now",
			exitMismatch: "too much is lost; or\n" + helpArchive,
		}),
		Example: `  gantry archive rebuild file:///media/disk
  gantry archive rebuild file:///media/dvd1 file:///media/dvd2 file:///media/dvd3 --to /srv/rebuilt
  gantry verify file:///srv/rebuilt file:///media/dvd1 file:///media/dvd2 file:///media/dvd3`,
		Args: cobra.MinimumNArgs(1),
	}
	c.Flags().StringVar(&to, "to", "", "folder for rebuilt volumes (default: where the damaged file is, or the set manifest)")
	formFlag(c.Flags(), "format of the result: text or json", outputText, outputJSON)
	return a.archiveVerb(c, func(ctx context.Context, o open.Options) error {
		result, err := rebuild.Archive(ctx, rebuild.Options{Options: o, To: to})
		return show(a, result, err, view.RebuiltArchive)
	})
}
