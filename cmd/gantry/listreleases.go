package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/releases"
)

func (a *app) listReleasesCommand() *cobra.Command {
	var f releaseQuery
	var o releases.ListOptions
	var arches, filter []string // two names of the same flag
	c := &cobra.Command{
		Use:   "releases [--channel CHANNEL [--from VERSION [--to VERSION]] | --version X.Y [--channels] | FROM... [WORD...]]",
		Short: "List platform releases and the update paths between them",
		Long: `List platform releases:

  without flags                one channel of each minor version
  --channel CHANNEL            the releases of a channel
  --version X.Y                the releases of stable-X.Y
  --version X.Y --channels     the channels of a version
  --channel CHANNEL --from A   the releases that a cluster can be updated to, with the
                               number of hops and risks of the best path
  --from A --to B              the path that a plan would choose, with its risks
  FROM... [WORD...]            those of mirrors (docker://HOST[:PORT][/PREFIX]) and archives
                               (file://DIR), by version; a WORD may have * and ?

With several versions in --from, the list or the path of each. Their paths share
releases where they can, as in a plan.

If risks forbid all paths, the best of them is printed and the exit status is 10.

` + updateServiceHelp + `
` + exitCodes(map[int]string{exitUsage: "no acceptable path exists, or flags are wrong"}),
		Example: `  gantry list releases --version 4.20 --channels
  gantry list releases --channel stable-4.20 --arch arm64
  gantry list releases --channel eus-4.20 --from 4.18.20
  gantry list releases --channel eus-4.20 --from 4.18.20 --to 4.20.5 --accept-risk RuncShareProcessNamespace`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Env, o.Arch = a.environment(&f.registryFlags), slices.Concat(arches, filter)
			return a.listReleases(cmd.Context(), o)
		},
	}
	f.ReleaseQuery = &o.ReleaseQuery
	f.addFlags(c.Flags())
	c.Flags().StringVar(&o.Channel, "channel", "", "list the releases of this channel")
	c.Flags().StringVar(&o.Version, "version", "", "minor version, such as 4.20")
	c.Flags().BoolVar(&o.Channels, "channels", false, "list the channels of --version")
	c.Flags().BoolVar(&o.Sizes, "sizes", false, "read the payloads and show the size of each release with its images")
	c.Flags().StringSliceVar(&arches, "arch", nil, "architectures of the releases: amd64, arm64, ppc64le, s390x, multi (default: those of -c, or amd64)")
	c.Flags().StringSliceVar(&filter, "filter-by-archs", nil, "the same as --arch, for compatibility with oc mirror")
	archFlag(c, "arch")
	archFlag(c, "filter-by-archs")
	formFlag(c.Flags(), "format of the list: text, json or yaml, or wide for mirrors and archives", outputText, outputWide, outputJSON, outputYAML)
	addMirroredReleases(a, c, &f.registryFlags, []string{"channel", "version", "channels", "sizes", "arch", "filter-by-archs", "config", "product", "from", "to", "accept-risk", "forbid-risk", "ignore-risks"})
	return c
}

func (a *app) listReleases(ctx context.Context, o releases.ListOptions) error {
	l, err := releases.Releases(ctx, o)
	if l == nil {
		return err
	}
	return errors.Join(err, a.result(l, func() string {
		if !a.isOcMirror() || len(o.From) > 0 || o.Sizes { // oc mirror does not have the latter two
			return view.Releases(l, a.columns())
		}
		version := ""
		if o.Channels {
			version = o.Version
		}
		return view.OCMirrorReleases(l, version)
	}))
}
