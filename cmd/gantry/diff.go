package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/pkg/env"
)

// diffFlags are the flags of gantry diff.
type diffFlags struct {
	selectFlags
	releaseFlags
	registryFlags
	trust          trustFlags
	name           string
	destFormat     string
	workspace      string
	form           string
	maxNestedPaths int
}

func (a *app) diffCommand() *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use: "diff {OLD NEW | -c FILE OLD | docker://HOST[:PORT][/PREFIX] | file://DIR}",
		Long: `List what is added, removed and changed between two contents: packages, channels and
bundles of catalogs, platform releases, charts, files and images. The sizes of new and
no longer needed content count shared blobs once. Nothing is copied or changed.

OLD and NEW are a plan (a file), an archive (file://DIR) or a mirror (docker://...),
as its records describe it. With -c, NEW is what the configuration asks for. A mirror
alone is compared with its revision before, a folder of archives with the archive before.

Of a mirror, the image set with the name of what it is compared with counts, or all
image sets if there is none. --name selects one.

` + exitCodes(map[int]string{exitMismatch: helpArchive, exitSomething: "the contents differ", exitLocked: helpLocked, exitUnauthorized: helpUnauthorized}),
		Example: `  gantry diff -c imageset.yaml docker://mirror.example.com:5000/ocp
  gantry diff docker://mirror.example.com:5000/ocp --name edge
  gantry diff january.json february.json
  gantry diff docker://mirror.example.com:5000/ocp file:///media/disk -o json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return a.diff(cmd.Context(), &f, args) },
	}
	f.selectFlags.addFlags(c.Flags(), pathsKept)
	f.releaseFlags.addFlags(c.Flags())
	c.Flags().StringVar(&f.destFormat, "dest-format", "", destFormatUsage)
	f.registryFlags.addFlags(c.Flags())
	f.addCacheDir(c.Flags())
	f.addRenderer(c.Flags())
	f.trust.addFlags(c.Flags())
	c.Flags().StringVar(&f.name, "name", "", "image set of a mirror, and name of the configuration (default: name of the file)")
	c.Flags().StringVar(&f.workspace, "workspace", env.DefaultWorkspace, "with -c, folder for the cache")
	c.Flags().IntVar(&f.maxNestedPaths, "max-nested-paths", 0, "maximum number of path components at the mirror, as in gantry mirror; 0 is no limit")
	formFlag(c.Flags(), &f.form, "format of the list: text or json", outputText, outputJSON)
	return c
}

func (a *app) diff(ctx context.Context, f *diffFlags, args []string) error {
	if err := a.form(f.form, outputText, outputJSON); err != nil {
		return err
	}
	read, err := a.reading(&f.trust)
	if err != nil {
		return err
	}
	o := report.DiffOptions{
		Env: a.environment(&f.registryFlags), Selection: f.selection(), ReleaseTrust: f.releaseFlags.trust(), Old: args[0], Name: f.name,
		Workspace: f.workspace, MaxNestedPaths: f.maxNestedPaths, Read: read,
	}
	o.DestFormat = f.destFormat
	if len(args) > 1 {
		o.New = args[1]
	}
	d, err := report.Diff(ctx, o)
	if err != nil {
		return err
	}
	err = a.result(d, func() string { return view.ContentDifference(d) })
	if err == nil && !d.Empty() {
		err = errSomething
	}
	return err
}
