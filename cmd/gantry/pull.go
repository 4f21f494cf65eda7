package main

import (
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/pull"
)

// pullFlags are the flags of gantry get.
type pullFlags struct {
	registryFlags
	archive archiveFlags
	options pull.Options
}

func (a *app) getCommand() *cobra.Command {
	var f pullFlags
	c := &cobra.Command{
		Use: "get FROM [NAME] [--to FILE]",
		Long: `Write a file of mirror.files, or a boot image of a release, to the working directory or
to --to. FROM is a mirror (docker://HOST[:PORT][/PREFIX]), an archive (file://DIR) or a
layout (oci://DIR). Without NAME, list the files that it has. The tools of a release are in
its images: gantry release tools writes them.

The content is compared with its SHA-256. The file appears when it is complete, executable
if it is a program. A file with other content is replaced only with --force. What arrives
before an interruption is kept beside the file, and the same command continues.

A mirror keeps the older files of a name: the list has them as NAME@sha256:DIGITS.

` + exitCodes(map[int]string{
			exitUnauthorized: helpUnauthorized,
			exitMismatch:     helpArchive,
			exitLocked:       "another run writes the file",
			exitNoSpace:      helpNoSpace,
		}),
		Example: `  gantry get docker://mirror.example.com:5000
  gantry get docker://mirror.example.com:5000 tools/install.sh --to bin/install.sh
  gantry get file:///media/disk rhcos-live.iso --to - | sha256sum`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return a.pull(cmd, &f, args) },
	}
	f.addFileFlags(c.Flags())
	f.archive.addFlags(c.Flags())
	c.Flags().StringVar(&f.options.To, "to", "", "file to write, - for stdout (default: the last part of NAME)")
	c.Flags().BoolVar(&f.options.Force, "force", false, "replace a file with other content")
	addNestedPaths(c.Flags(), &f.options.MaxNestedPaths)
	formFlag(c.Flags(), "format: text or json", outputText, outputJSON)
	return c
}

func (a *app) pull(cmd *cobra.Command, f *pullFlags, args []string) error {
	o, ctx := f.options, cmd.Context()
	o.From = args[0]
	var err error
	if o.Read, err = a.reading(&f.archive.trust); err != nil {
		return err
	}
	o.Env, o.Sequence = a.environment(&f.registryFlags), f.archive.sequence
	if len(args) == 1 {
		if o.To != "" {
			return usageHint(cmd.CommandPath()+" "+args[0]+" lists the names", "--to needs the NAME of a file")
		}
		list, err := pull.ListFiles(ctx, o)
		if err != nil {
			return err
		}
		return a.result(list, func() string { return view.Files(list, a.columns()) })
	}
	if o.Name = args[1]; o.To == toStdout {
		o.To, o.Output = "", a.stdout
	}
	pulled, err := pull.File(ctx, o)
	if err != nil || o.Output != nil {
		return err
	}
	return a.result(pulled, func() string { return view.PulledFile(*pulled) })
}
