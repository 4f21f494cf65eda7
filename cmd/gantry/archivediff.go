package main

import (
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
)

func (a *app) archiveDiffCommand() *cobra.Command {
	var trust trustFlags
	var sequences []int
	c := &cobra.Command{
		Use:   "diff {file://OLD file://NEW | file://DIR --sequence OLD,NEW}",
		Short: "Show what changed from one archive to another",
		Long: `List the images that only one of two archives has, the images whose content changed,
and how much content that is. Content that an archive omits because an earlier archive
has it counts as part of it.

With two folders, the newest archives in them are compared. With one folder, the last
two archives in it are compared. --sequence selects others. Only the volumes with the
plans are needed.

` + exitCodes(map[int]string{exitMismatch: helpArchive, exitSomething: "the archives differ"}),
		Example: `  gantry archive diff file:///media/january file:///media/february
  gantry archive diff file:///media/disk --sequence 1,3
  gantry archive diff file:///media/disk -o json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			read, err := a.reading(&trust)
			if err != nil {
				return err
			}
			d, err := inspect.CompareArchives(cmd.Context(), inspect.CompareArchivesOptions{Folders: args, Sequence: sequences, Read: read})
			return showDifference(a, d, err, view.ArchiveDifference)
		},
	}
	trust.addFlags(c.Flags())
	c.Flags().IntSliceVar(&sequences, "sequence", nil, "numbers of the two archives, as OLD,NEW; 0 is the newest")
	formFlag(c.Flags(), "format of the list: text or json", outputText, outputJSON)
	return c
}
