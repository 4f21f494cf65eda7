package main

import (
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/pkg/env"
)

func (a *app) diffCommand() *cobra.Command {
	var f registryFlags
	var o report.DiffOptions
	var trust trustFlags
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
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Read, err = a.reading(&trust); err != nil {
				return err
			}
			o.Env, o.Old = a.environment(&f), args[0]
			if len(args) > 1 {
				o.New = args[1]
			}
			d, err := report.Diff(cmd.Context(), o)
			return showDifference(a, d, err, view.ContentDifference)
		},
	}
	addSelection(c.Flags(), &o.Selection, pathsKept)
	addReleaseTrust(c.Flags(), &o.ReleaseTrust)
	addDestFormat(c.Flags(), &o.Selection)
	f.addFlags(c.Flags())
	f.addCacheDir(c.Flags())
	f.addRenderer(c.Flags())
	trust.addFlags(c.Flags())
	c.Flags().StringVar(&o.Name, "name", "", "image set of a mirror, and name of the configuration (default: name of the file)")
	c.Flags().StringVar(&o.Workspace, "workspace", env.DefaultWorkspace, "with -c, folder for the cache")
	addNestedPaths(c.Flags(), &o.MaxNestedPaths)
	formFlag(c.Flags(), "format of the list: text or json", outputText, outputJSON)
	return c
}

// showDifference prints a difference. A command that finds one ends with errSomething.
func showDifference[D interface{ Empty() bool }](a *app, d D, err error, text func(D) string) error {
	if err != nil {
		return err
	}
	err = a.result(d, func() string { return text(d) })
	if err == nil && !d.Empty() {
		err = errSomething
	}
	return err
}
