package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/releases"
)

func (a *app) releaseToolsCommand() *cobra.Command {
	var o releases.ToolOptions
	c := &cobra.Command{
		Use:   "tools RELEASE [NAME...] [--to DIR]",
		Short: "List or extract oc, openshift-install and other tools of a release",
		Long: `Write the tools of a release to files, such as oc-4.20.5-linux-amd64: oc,
openshift-install and oc-mirror, or the named ones. Without --to, list all tools that the
release has. They come out of the images of the release, so a mirror or an archive with the
release has them, too. They are as oc adm release extract writes them: oc prints the
version of the release, and openshift-install installs it. The output has the
format of sha256sum.

` + releaseHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized, exitMismatch: helpArchive, exitNoSpace: helpNoSpace}),
		Example: `  gantry release tools 4.20.5
  gantry release tools file:///media/disk#4.20.5 --to bin
  gantry release tools mirror.example.com:5000/openshift/release-images:4.20.5-x86_64 oc --to bin --platform linux/amd64 --platform darwin/arm64`,
		Args: cobra.MinimumNArgs(1),
	}
	repeatable(c.Flags(), &o.Platforms, "platform", "platform on which the tools run, such as linux/amd64, darwin/arm64, windows/amd64 (may be repeated; default with --to: Linux on the architecture of the release)")
	offer(c.Flags(), "platform", releases.ToolPlatforms())
	c.Flags().StringVar(&o.To, "to", "", "write the tools to this folder")
	c.Flags().StringVar(&o.ReleaseImage, "release-image", "", "image by digest that openshift-install installs (default: RELEASE; for an archive, the release at its source)")
	formFlag(c.Flags(), "format: text, json or yaml", outputText, outputJSON, outputYAML)
	return a.releaseVerb(c, func(ctx context.Context, release releases.ReleaseOptions, names []string) error {
		o.ReleaseOptions, o.Names = release, names
		list, err := releases.ReleaseTools(ctx, o)
		return show(a, list, err, func(l *releases.ReleaseToolList) string {
			if o.To != "" {
				return view.ToolSums(l)
			}
			return view.ReleaseTools(l, a.columns())
		})
	})
}
