package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/releases"
)

func (a *app) releaseInfoCommand() *cobra.Command {
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
	}
	formFlag(c.Flags(), "format: text, json or yaml", outputText, outputJSON, outputYAML)
	return a.releaseVerb(c, func(ctx context.Context, o releases.ReleaseOptions, _ []string) error {
		info, err := releases.ReadRelease(ctx, o)
		return show(a, info, err, func(r *releases.ReleaseInfo) string { return view.ReleaseInfo(r, a.columns()) })
	})
}

func (a *app) releaseImagesCommand() *cobra.Command {
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
	}
	formFlag(c.Flags(), "format: text, json or yaml", outputText, outputJSON, outputYAML)
	return a.releaseVerb(c, func(ctx context.Context, o releases.ReleaseOptions, patterns []string) error {
		list, err := releases.ReleaseImages(ctx, o, patterns)
		return show(a, list, err, func(l *releases.ReleaseImageList) string { return view.ReleaseImages(l, patterns, a.columns()) })
	})
}
