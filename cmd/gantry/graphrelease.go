package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/picture"
)

// graphReleaseFlags are those of gantry graph release.
type graphReleaseFlags struct {
	releaseQuery
	arch, form string
	all        bool
}

func (a *app) graphReleaseCommand() *cobra.Command {
	var f graphReleaseFlags
	c := &cobra.Command{
		Use:   "release CHANNEL",
		Short: "Draw the update graph of platform releases",
		Long: `Release draws the update graph of a channel of platform releases. Updates that are
recommended only where none of their risks applies are dashed, with the names of the
risks. With --from and --to it draws what lies between two versions, and marks the
path that a plan chooses; without --to, that to the head.

Large graphs are folded: releases that follow each other share a box, and an update
is drawn where no way over others says the same. --all gives each release its box.
The form json is the graph itself, unfolded, as update services answer it.

` + updateServiceHelp + `
` + exitStatusHelp,
		Example: `  gantry graph release stable-4.20
  gantry graph release eus-4.20 --from 4.18.20 --to 4.20.5 -o svg > graph.svg
  gantry graph release stable-4.20 --arch multi --from 4.19.15 -o json > graph.json`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.graphRelease(cmd.Context(), f, args[0])
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.addFlags(c.Flags())
	c.Flags().StringVar(&f.arch, "arch", string(release.DefaultArch), "architecture of the releases: amd64, arm64, ppc64le, s390x or multi")
	c.Flags().BoolVar(&f.all, "all", false, "give each release a box, however many there are")
	c.Flags().StringVarP(&f.form, "output", "o", outputText, "form of the graph: "+strings.Join(diagram.Forms(), ", "))
	offer(c.Flags(), "output", diagram.Forms())
	archFlag(c, "arch")
	return c
}

func (a *app) graphRelease(ctx context.Context, f graphReleaseFlags, channel string) error {
	form, err := diagram.ParseForm(f.form)
	if err != nil {
		return usagef("-o: %w", err)
	}
	arches, err := parseArches([]string{f.arch})
	if err != nil {
		return err
	}
	u, err := f.open(a)
	if err != nil {
		return err
	}
	g, err := f.graph(ctx, a, u, channel, arches[0])
	if err != nil {
		return err
	}
	options := picture.Options{Title: fmt.Sprintf("%s for %s", channel, g.arch), All: f.all}
	if g.from >= 0 {
		// A picture shows what risks there are: none keeps it from being drawn.
		policy := f.policy()
		policy.AllowAlways = true
		if options.Path, err = f.path(g, policy); err != nil {
			return err
		}
	}
	part := g.Graph
	if g.from >= 0 || g.to >= 0 {
		part = picture.Part(g.Graph, g.from, g.to)
	}
	out := bufio.NewWriter(a.stdout)
	if form == diagram.JSON {
		err = part.Write(out)
	} else {
		err = diagram.Write(out, picture.Draw(part, options), form)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}
