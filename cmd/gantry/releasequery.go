package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
	"github.com/gantry-mirror/gantry/pkg/release/path"
	"github.com/gantry-mirror/gantry/pkg/release/update"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// releaseQuery is what verbs ask update services.
type releaseQuery struct {
	sides
	config         string
	product        string
	from, to       string
	accept, forbid []string
	ignore         bool
}

const updateServiceHelp = `The update service is that of the product. $UPDATE_URL_OVERRIDE names another, and so
does a configuration (-c) with mirror.platform.updateService.
`

func (q *releaseQuery) addFlags(f *pflag.FlagSet) {
	q.addSourceFlags(f)
	f.StringVarP(&q.config, "config", "c", "", "ImageSetConfiguration whose update service is asked")
	f.StringVar(&q.product, "product", string(release.OCP), "whose releases: ocp or okd")
	f.StringVar(&q.from, "from", "", "version that a cluster runs")
	f.StringVar(&q.to, "to", "", "version that it is to be updated to")
	f.StringArrayVar(&q.accept, "accept-risk", nil, "let the risk of this name count for nothing (may be repeated)")
	f.StringArrayVar(&q.forbid, "forbid-risk", nil, "take no update with the risk of this name (may be repeated)")
	f.BoolVar(&q.ignore, "ignore-risks", false, "let no risk count but the forbidden ones")
	offer(f, "product", products())
}

func products() []string { return []string{string(release.OCP), string(release.OKD)} }

// archFlag completes what names architectures of releases.
func archFlag(c *cobra.Command, flag string) {
	var names []string
	for _, a := range release.Arches() {
		names = append(names, string(a))
	}
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)) // it is there, and new
}

// parseArches reads architectures, each once; none is the default.
func parseArches(names []string) ([]release.Arch, error) {
	if len(names) == 0 {
		return []release.Arch{release.DefaultArch}, nil
	}
	var arches []release.Arch
	for _, name := range names {
		a, err := release.ParseArch(name)
		if err != nil {
			return nil, usagef("--arch: %w", err)
		}
		if !slices.Contains(arches, a) {
			arches = append(arches, a)
		}
	}
	return arches, nil
}

// open checks the flags and returns who is asked.
func (q *releaseQuery) open(a *app) (*updates, error) {
	if !slices.Contains(products(), q.product) {
		return nil, usageHint("give ocp or okd", "--product %q", q.product)
	}
	if q.from == "" && (q.ignore || len(q.accept)+len(q.forbid) > 0) {
		return nil, usageHint("say with --from what the cluster runs", "--accept-risk, --forbid-risk and --ignore-risks are for the way from a version")
	}
	if q.ignore && len(q.accept) > 0 {
		return nil, usageHint("leave out one of them", "--ignore-risks accepts every risk, --accept-risk some")
	}
	for _, name := range q.accept {
		if slices.Contains(q.forbid, name) {
			return nil, usageHint("leave out one of them", "risk %q is both accepted and forbidden", name)
		}
	}
	for flag, version := range map[string]string{"--from": q.from, "--to": q.to} {
		if _, err := semver.Parse(version); err != nil && version != "" {
			return nil, usageHint("give a version such as 4.20.5", "%s %q: %w", flag, version, err)
		}
	}
	var cfg *imageset.Releases
	if q.config != "" {
		s := selectFlags{config: q.config}
		if err := s.load(); err != nil {
			return nil, err
		}
		cfg = s.loaded.Mirror.Platform
	}
	client, err := a.client(&q.sides, remote.Source)
	if err != nil {
		return nil, err
	}
	return a.updates(client, cfg, releaseFlags{}), nil
}

// policy is what risks count for.
func (q *releaseQuery) policy() path.Policy {
	p := path.Policy{Accept: q.accept, Forbid: q.forbid}
	if q.ignore {
		p.Mode = path.Ignore
	}
	return p
}

// A releaseGraph is the graph of a channel, and where the versions of the flags
// stand in it.
type releaseGraph struct {
	*graph.Graph
	channel string
	arch    release.Arch
	url     string
	// from and to are -1 where the flag was not given.
	from, to int
}

func (g *releaseGraph) String() string { return fmt.Sprintf("channel %s for %s", g.channel, g.arch) }

// graph asks for a channel and finds the versions in it.
func (q *releaseQuery) graph(ctx context.Context, a *app, u *updates, channel string, arch release.Arch) (*releaseGraph, error) {
	g, answered, err := u.Graph(ctx, release.Product(q.product), channel, arch)
	var unknown *update.UnknownChannelError
	switch {
	case errors.As(err, &unknown):
		return nil, q.suggest(unknown)
	case err != nil:
		return nil, err
	}
	out := &releaseGraph{Graph: g, channel: channel, arch: arch, url: answered.URL, from: -1, to: -1}
	for _, v := range []struct {
		flag, version string
		at            *int
	}{{"--from", q.from, &out.from}, {"--to", q.to, &out.to}} {
		if v.version == "" {
			continue
		}
		parsed, err := semver.Parse(v.version)
		if err != nil {
			return nil, usagef("%s: %w", v.flag, err)
		}
		i, ok := g.Find(parsed)
		if !ok {
			return nil, q.absent(ctx, u, v.flag, parsed, out)
		}
		*v.at = i
	}
	for _, name := range path.Unknown(g, q.policy()) {
		near := suggest.Phrase(name, path.Names(g))
		if near != "" {
			near = "; " + near
		}
		a.warn("no update of %s has the risk %q%s", out, name, near)
	}
	return out, nil
}

// suggest adds to the error of a channel that does not exist how it may be called.
func (q *releaseQuery) suggest(e *update.UnknownChannelError) error {
	kind, minor, _ := strings.Cut(e.Channel, "-")
	if q.product != string(release.OCP) || !minorVersion.MatchString(minor) {
		return e
	}
	if slices.Contains(kindsOfChannels[:], kind) {
		return &hintError{e, "; ", "gantry list releases --version " + minor + " --channels lists those that exist"}
	}
	with := *e
	for _, kind := range kindsOfChannels {
		with.Channels = append(slices.Clip(with.Channels), kind+"-"+minor)
	}
	return &with
}

// absent is the error of a version that a channel does not have, with the channel of
// its minor version that has it, or else the versions next to it.
func (q *releaseQuery) absent(ctx context.Context, u *updates, flag string, v semver.Version, g *releaseGraph) error {
	for _, kind := range kindsOfChannels {
		name := fmt.Sprintf("%s-%d.%d", kind, v.Major, v.Minor)
		if name == g.channel || q.product != string(release.OCP) {
			continue
		}
		// That it is not there, or cannot be asked for, is not what was asked.
		if other, _, err := u.Graph(ctx, release.OCP, name, g.arch); err == nil {
			if _, ok := other.Find(v); ok {
				return usageHint("channel "+name+" has it", "%s %s is not in %s", flag, v, g)
			}
		}
	}
	at, _ := g.Find(v)
	var near []string
	if at > 0 {
		near = append(near, g.Nodes[at-1].Version.String())
	}
	if at < len(g.Nodes) {
		near = append(near, g.Nodes[at].Version.String())
	}
	hint := fmt.Sprintf("it has %s; gantry list releases --channel %s lists all", strings.Join(near, " and "), g.channel)
	return usageHint(hint, "%s %s is not in %s", flag, v, g)
}

// path is the best path from one version of the flags to the other, or to the head.
// One that may not be taken is returned with its error, which is a usage error as
// plans have it: the flags ask for what cannot be.
func (q *releaseQuery) path(g *releaseGraph, policy path.Policy) (*path.Path, error) {
	to := g.to
	if to < 0 {
		to = g.Head()
	}
	paths, err := path.Find(g.Graph, []semver.Version{g.Nodes[g.from].Version}, g.Nodes[to].Version, policy)
	if err != nil {
		return blockedPath(err), usagef("%s: %w", g, err)
	}
	return &paths[0], nil
}

// blockedPath is the path that an error says may not be taken; nil where there is
// none.
func blockedPath(err error) *path.Path {
	var blocked *path.BlockedError
	if errors.As(err, &blocked) {
		return &blocked.Path
	}
	return nil
}
