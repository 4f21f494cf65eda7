package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/release/query"
)

func (a *app) releaseInfoCommand() *cobra.Command {
	var f payloadFlags
	c := &cobra.Command{
		Use:   "info RELEASE",
		Short: "Show versions, images, capabilities and upgrade gates of a release",
		Long: `Show what a release image says: its version and erratum, the versions of Kubernetes and
of the operating system, the releases that can be updated to it, its images, the
capabilities and profiles of its manifests, and the gates that an administrator has to
acknowledge before the next minor version, each with the command that does it.

` + releaseHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized, exitMismatch: helpArchive}),
		Example: `  gantry release info 4.20.5
  gantry release info mirror.example.com:5000/openshift/release-images:4.20.5-x86_64
  gantry release info file:///media/disk#4.20.5 -o json | jq .gates`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.releaseInfo(cmd.Context(), &f, args[0]) },
	}
	f.addFlags(c)
	formFlag(c.Flags(), "format: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

func (a *app) releaseInfo(ctx context.Context, f *payloadFlags, name string) error {
	o, err := f.options(a, name)
	if err != nil {
		return err
	}
	info, err := query.ReadRelease(ctx, o)
	if err != nil {
		return err
	}
	return a.result(info, func() string { return view.ReleaseInfo(info, a.columns()) })
}

func (a *app) releaseImagesCommand() *cobra.Command {
	var f payloadFlags
	c := &cobra.Command{
		Use:   "images RELEASE [NAME...]",
		Short: "List the images of a release",
		Long: `List the images of a release by name, with their references by digest. With names, only
these; * matches any text, ? one character. With one name without them, only the
reference is printed, for scripts. What machines boot from, also the container disks of
KubeVirt, is in the list of gantry release boot-images.

` + releaseHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized, exitMismatch: helpArchive}),
		Example: `  gantry release images 4.20.5
  gantry release images 4.20.5 'ovn-*'
  podman pull $(gantry release images 4.20.5 cli)`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.releaseImages(cmd.Context(), &f, args[0], args[1:])
		},
	}
	f.addFlags(c)
	formFlag(c.Flags(), "format: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

func (a *app) releaseImages(ctx context.Context, f *payloadFlags, name string, patterns []string) error {
	o, err := f.options(a, name)
	if err != nil {
		return err
	}
	list, err := query.ReleaseImages(ctx, o, patterns)
	if err != nil {
		return err
	}
	return a.result(list, func() string { return view.ReleaseImages(list, patterns, a.columns()) })
}
