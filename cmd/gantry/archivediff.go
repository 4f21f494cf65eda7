package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
)

// archiveDiffFlags are the flags of gantry archive diff.
type archiveDiffFlags struct {
	trust     trustFlags
	sequences []int
}

func (a *app) archiveDiffCommand() *cobra.Command {
	var f archiveDiffFlags
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
			return a.archiveDiff(cmd.Context(), &f, args)
		},
	}
	f.addFlags(c.Flags())
	return c
}

func (f *archiveDiffFlags) addFlags(fs *pflag.FlagSet) {
	f.trust.addFlags(fs)
	fs.IntSliceVar(&f.sequences, "sequence", nil, "numbers of the two archives, as OLD,NEW; 0 is the newest")
	formFlag(fs, "format of the list: text or json", outputText, outputJSON)
}

func (a *app) archiveDiff(ctx context.Context, f *archiveDiffFlags, args []string) error {
	read, err := a.reading(&f.trust)
	if err != nil {
		return err
	}
	d, err := inspect.CompareArchives(ctx, inspect.CompareArchivesOptions{Folders: args, Sequence: f.sequences, Read: read})
	if err != nil {
		return err
	}
	err = a.result(d, func() string { return view.ArchiveDifference(d) })
	if err == nil && !d.Empty() {
		err = errSomething
	}
	return err
}
