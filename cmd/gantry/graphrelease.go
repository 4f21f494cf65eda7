package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/advice/escape"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

// graphReleaseFlags are the flags of gantry release graph.
type graphReleaseFlags struct {
	releaseQuery
	options releases.ReleaseGraphOptions
	form    string
}

func (a *app) graphReleaseCommand() *cobra.Command {
	var f graphReleaseFlags
	c := &cobra.Command{
		Use:   "graph CHANNEL",
		Short: "Draw the update graph of platform releases",
		Long: `Draw the update graph of a channel of platform releases. Updates with risks are dashed
and labeled with the names of the risks. With --from and --to, draw only the releases
between the versions and mark the paths that a plan would choose; --to defaults to the
head of the channel. If a plan would refuse a path, the best one is drawn and the exit
status is 10.

Large graphs are folded: consecutive releases share a box, and updates that other
updates imply are not drawn. --all gives each release its own box. The format json is
the complete graph, in the format of update services.

` + updateServiceHelp + `
` + exitCodes(map[int]string{exitUsage: "no acceptable path exists, or flags are wrong"}),
		Example: `  gantry release graph stable-4.20
  gantry release graph eus-4.20 --from 4.18.20 --to 4.20.5 -o svg > graph.svg
  gantry release graph stable-4.20 --arch multi --from 4.19.15 -o json > graph.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.options.Channel = args[0]
			return a.graphRelease(cmd.Context(), &f)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.ReleaseQuery = &f.options.ReleaseQuery
	f.addFlags(c.Flags())
	c.Flags().StringVar(&f.options.Arch, "arch", "", "architecture of the releases: amd64, arm64, ppc64le, s390x or multi (default: the first of -c, or amd64)")
	c.Flags().BoolVar(&f.options.All, "all", false, "give each release its own box")
	c.Flags().StringVarP(&f.form, "output", "o", outputText, "format of the graph: "+strings.Join(diagram.Forms(), ", "))
	offer(c.Flags(), "output", diagram.Forms())
	archFlag(c, "arch")
	return c
}

func (a *app) graphRelease(ctx context.Context, f *graphReleaseFlags) error {
	form, err := diagram.ParseForm(f.form)
	if err != nil {
		return usagef("-o: %w", err)
	}
	f.options.Env = a.environment(&f.registryFlags)
	drawing, g, err := releases.ReleaseGraph(ctx, f.options)
	if g == nil {
		return err
	}
	return errors.Join(err, a.writeReleaseGraph(form, drawing, g))
}

func (a *app) writeReleaseGraph(form diagram.Form, drawing diagram.Drawing, g *graph.Graph) error {
	if form == diagram.JSON {
		var text bytes.Buffer
		if err := g.Write(&text); err != nil {
			return err
		}
		_, err := a.stdout.Write(escape.JSON(text.Bytes()))
		return err
	}
	out := bufio.NewWriter(a.stdout)
	return errors.Join(diagram.Write(out, drawing, form), out.Flush())
}
