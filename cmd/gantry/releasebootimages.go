package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/release/query"
)

func (a *app) releaseBootImagesCommand() *cobra.Command {
	var f payloadFlags
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
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.releaseBootImages(cmd.Context(), &f, args[0], args[1:])
		},
	}
	f.addFlags(c)
	formFlag(c.Flags(), "format: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

func (a *app) releaseBootImages(ctx context.Context, f *payloadFlags, name string, kinds []string) error {
	o, err := f.options(a, name)
	if err != nil {
		return err
	}
	list, err := query.BootImages(ctx, o, kinds)
	if err != nil {
		return err
	}
	return a.result(list, func() string { return view.BootImages(list, a.columns()) })
}
