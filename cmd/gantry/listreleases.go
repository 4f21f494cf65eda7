package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/path"
	"github.com/gantry-mirror/gantry/pkg/release/update"
	"github.com/gantry-mirror/gantry/plan"
)

// listReleasesFlags are those of gantry list releases.
type listReleasesFlags struct {
	releaseQuery
	version, channel string
	channels         bool
	arches, filter   []string // two names of one flag
	form             string
}

func (a *app) listReleasesCommand() *cobra.Command {
	var f listReleasesFlags
	c := &cobra.Command{
		Use:   "releases {--channel CHANNEL [--from VERSION [--to VERSION]] | --version X.Y [--channels]}",
		Short: "List platform releases, and how clusters get from one to another",
		Long: `Releases lists what oc mirror list releases lists: with --channel the releases of a
channel, with --version those of stable-X.Y, with --channels too the channels that
exist for that version.

With --from it lists the releases that a cluster gets to, by how many hops and with
how many risks on the best path, and with --to the path as a plan chooses it: its
hops, and the risks of each with what they say and where they apply. Where no path
may be taken, the best one there is gets printed, and the exit status is 10.

` + updateServiceHelp + `
` + exitStatusHelp,
		Example: `  gantry list releases --version 4.20 --channels
  gantry list releases --channel stable-4.20 --arch arm64
  gantry list releases --channel eus-4.20 --from 4.18.20
  gantry list releases --channel eus-4.20 --from 4.18.20 --to 4.20.5 --accept-risk RuncShareProcessNamespace`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listReleases(cmd.Context(), f) },
	}
	f.addFlags(c.Flags())
	c.Flags().StringVar(&f.channel, "channel", "", "list the releases of this channel")
	c.Flags().StringVar(&f.version, "version", "", "minor version, such as 4.20")
	c.Flags().BoolVar(&f.channels, "channels", false, "list the channels of --version")
	c.Flags().StringSliceVar(&f.arches, "arch", nil, "architectures of the releases: amd64 (the default), arm64, ppc64le, s390x, multi")
	c.Flags().StringSliceVar(&f.filter, "filter-by-archs", nil, "the same as --arch, as oc mirror has it")
	archFlag(c, "arch")
	archFlag(c, "filter-by-archs")
	formFlag(c.Flags(), &f.form, "form of the list: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

// check finds what contradicts itself in the flags, and reads the others.
func (f *listReleasesFlags) check() ([]release.Arch, error) {
	switch {
	case f.channel == "" && f.version == "":
		return nil, usageHint("give --channel stable-4.20, or --version 4.20 --channels to see which there are", "what is to be listed?")
	case f.channel != "" && (f.version != "" || f.channels):
		return nil, usageHint("leave out one of them", "--channel names one channel, --version and --channels are to find it")
	case f.channels && f.from+f.to != "":
		return nil, usageHint("name one with --channel", "--from and --to are for the releases of a channel")
	case f.to != "" && f.from == "":
		return nil, usageHint("say with --from what the cluster runs", "--to %s: from where?", f.to)
	case f.version != "" && !minorVersion.MatchString(f.version):
		return nil, usageHint("give the minor version as 4.20", "--version %q", f.version)
	case f.version != "" && f.product != string(release.OCP):
		return nil, usageHint("name a channel with --channel", "--version is for channels of ocp, whose names are made of versions")
	}
	return parseArches(slices.Concat(f.arches, f.filter))
}

func (a *app) listReleases(ctx context.Context, f listReleasesFlags) error {
	if err := a.form(f.form, outputText, outputJSON, outputYAML); err != nil {
		return err
	}
	arches, err := f.check()
	if err != nil {
		return err
	}
	u, err := f.open(a)
	if err != nil {
		return err
	}
	l := releaseListing{Version: 1, Product: release.Product(f.product)}
	if f.channels {
		if l.Channels, err = a.channelsOf(ctx, u, f, arches); err != nil {
			return err
		}
		return a.printReleases(f.form, l)
	}
	channel := f.channel
	if channel == "" {
		channel = "stable-" + f.version
		a.say("Listing %s; --channels lists all channels of %s.", channel, f.version)
	}
	var problems []error
	for _, arch := range arches {
		g, err := f.graph(ctx, a, u, channel, arch)
		if err != nil {
			return err
		}
		entry, err := f.list(a, g)
		l.Channels = append(l.Channels, entry)
		if err != nil {
			problems = append(problems, err)
		}
	}
	if f.to == "" || slices.ContainsFunc(l.Channels, func(c listedReleases) bool { return c.Path != nil }) {
		problems = append(problems, a.printReleases(f.form, l))
	}
	return errors.Join(problems...)
}

// kindsOfChannels are what the names of channels begin with, the most careful first.
var kindsOfChannels = [...]string{"stable", "eus", "fast", "candidate"}

// channelsOf asks which channels there are for a minor version. One that does not
// exist is left out; that there is none, or that one cannot be asked for, is an error.
func (a *app) channelsOf(ctx context.Context, u *updates, f listReleasesFlags, arches []release.Arch) ([]listedReleases, error) {
	var (
		found  []listedReleases
		absent *update.UnknownChannelError
	)
	for _, kind := range kindsOfChannels {
		for _, arch := range arches {
			g, err := f.graph(ctx, a, u, kind+"-"+f.version, arch)
			switch {
			case err == nil:
				found = append(found, g.outline())
			case !errors.As(err, &absent):
				return nil, err
			}
		}
	}
	if len(found) == 0 {
		return nil, usageHint("check the version, and --arch", "--version %s: no channel has releases of it for %s at %s", f.version, joinedArches(arches), shown(absent.URL))
	}
	return found, nil
}

func joinedArches(arches []release.Arch) string {
	var names []string
	for _, arch := range arches {
		names = append(names, string(arch))
	}
	return joined(names)
}

// outline is what a list of channels says of one.
func (g *releaseGraph) outline() listedReleases {
	return listedReleases{Name: g.channel, Arch: g.arch, URL: g.url, Head: g.Nodes[g.Head()].Version.String(), Count: len(g.Nodes)}
}

// list is what is to be said of one channel. The entry stands beside the error, too.
func (f *listReleasesFlags) list(a *app, g *releaseGraph) (listedReleases, error) {
	out := g.outline()
	if g.from < 0 {
		for i := range slices.Backward(g.Nodes) {
			out.Releases = append(out.Releases, listRelease(g, i))
		}
		return out, nil
	}
	out.From = g.Nodes[g.from].Version.String()
	if g.to >= 0 {
		p, err := f.path(g, f.policy())
		if p != nil {
			u := plan.NewUpdatePath(release.Product(f.product), g.arch, g.channel, *p)
			out.Path = &u
		}
		return out, err
	}
	// What is reached by risks for every cluster only is listed with their number.
	policy := f.policy()
	policy.AllowAlways = true
	targets, err := path.Reachable(g.Graph, g.Nodes[g.from].Version, policy)
	if err != nil {
		return out, fmt.Errorf("%s: %w", g, err)
	}
	out.Releases = []listedRelease{}
	for _, t := range slices.Backward(targets) {
		r := listRelease(g, t.Node)
		r.Reached = &reached{Hops: t.Cost.Hops, Risks: t.Cost.Always + t.Cost.PromQL, Always: t.Cost.Always}
		out.Releases = append(out.Releases, r)
	}
	if more := g.Head() - g.from - len(targets); more > 0 {
		a.say("%s: no updates lead from %s to %s that are newer.", g, out.From, number(more, "other release", "other releases"))
	}
	return out, nil
}
