package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/releases"
)

func (a *app) releaseBootImagesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "boot-images RELEASE [KIND...]",
		Short: "List the files that machines of a release boot from",
		Long: `List the boot images of CoreOS that a release was tested with: ISO images, disk images,
kernels. Each has an address at the vendor and a digest. With kinds, list only these.

` + releaseHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized, exitMismatch: helpArchive}),
		Example: `  gantry release boot-images 4.20.5
  gantry release boot-images 4.20.5 metal/iso vmware/ova
  gantry release boot-images file:///media/disk#4.20.5 metal/pxe -o json`,
		Args: cobra.MinimumNArgs(1),
	}
	formFlag(c.Flags(), "format: text, json or yaml", outputText, outputJSON, outputYAML)
	return a.releaseVerb(c, func(ctx context.Context, o releases.ReleaseOptions, kinds []string) error {
		list, err := releases.BootImages(ctx, o, kinds)
		return show(a, list, err, func(l *releases.BootImageList) string { return view.BootImages(l, a.columns()) })
	})
}
