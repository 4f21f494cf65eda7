package releases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/path"
	"github.com/gantry-mirror/gantry/pkg/platform/update"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// A ReleaseQuery says which update service is asked, and which versions of a channel are meant.
type ReleaseQuery struct {
	// Config is the file of an ImageSetConfiguration whose update service, and whose architectures, are used. The default is the
	// update service of Product, or of the environment (updates.UpdateURLVariable).
	Config string
	// Product is the product whose releases are meant. The default is OCP.
	Product release.Product
	// From are the versions that clusters run, and To is the one that they will be updated to. Both
	// may be empty.
	From []string
	To   string
	// AcceptRisk are the names of risks that are ignored on the path from From. ForbidRisk are those
	// of risks that no update of the path may have.
	AcceptRisk, ForbidRisk []string
	// IgnoreRisks ignores all risks except those of ForbidRisk.
	IgnoreRisks bool
}

// Products returns the products that a ReleaseQuery may name.
func Products() []release.Product { return []release.Product{release.OCP, release.OKD} }

// kindsOfChannels are the prefixes of channel names, the most conservative first.
var kindsOfChannels = [...]string{"stable", "eus", "fast", "candidate"}

// parseArches parses architectures and removes duplicates.
func parseArches(names []string) ([]release.Arch, error) {
	var arches []release.Arch
	for _, name := range names {
		a, err := release.ParseArch(name)
		if err != nil {
			return nil, env.Inputf("Options.Arch: %w", err)
		}
		if !slices.Contains(arches, a) {
			arches = append(arches, a)
		}
	}
	return arches, nil
}

// validate returns an error if options are invalid or contradict each other.
func (q *ReleaseQuery) validate() error {
	if !slices.Contains(Products(), q.Product) {
		return env.InputHint("give ocp or okd", "Options.Product %q", q.Product)
	}
	if len(q.From) == 0 && (q.IgnoreRisks || len(q.AcceptRisk)+len(q.ForbidRisk) > 0) {
		return env.InputHint("give the version that the cluster runs with Options.From", "Options.AcceptRisk, Options.ForbidRisk and Options.IgnoreRisks are for the update path from a version")
	}
	if q.IgnoreRisks && len(q.AcceptRisk) > 0 {
		return env.InputHint("leave out one of them", "Options.IgnoreRisks accepts every risk, Options.AcceptRisk some")
	}
	for _, name := range q.AcceptRisk {
		if slices.Contains(q.ForbidRisk, name) {
			return env.InputHint("leave out one of them", "risk %q is both accepted and forbidden", name)
		}
	}
	for _, version := range q.From {
		if err := validVersion("Options.From", version); err != nil {
			return err
		}
	}
	if q.To == "" {
		return nil
	}
	return validVersion("Options.To", q.To)
}

func validVersion(option, version string) error {
	if _, err := semver.Parse(version); err != nil {
		return env.InputHint("give a version such as 4.20.5", "%s %q: %w", option, version, err)
	}
	return nil
}

// A releaseClient sends a query to an update service.
type releaseClient struct {
	*ReleaseQuery
	env     *env.Env
	updates *updates.Updates
	images  *remote.Client // for payloads
	// configured is mirror.platform of the configuration; nil without one.
	configured *imageset.Releases
}

// newReleaseClient validates a query, reads its configuration and makes the client for its service.
func newReleaseClient(e *env.Env, q *ReleaseQuery) (*releaseClient, error) {
	q.Product = cmp.Or(q.Product, release.OCP)
	if err := q.validate(); err != nil {
		return nil, err
	}
	selected, err := (&selection.Selection{Config: q.Config}).Load()
	if err != nil {
		return nil, err
	}
	selection.WarnConfig(e, selected.Config)
	var cfg *imageset.Releases
	if selected.Config != nil {
		cfg = selected.Config.Mirror.Platform
	}
	client, err := e.Client(remote.Source)
	if err != nil {
		return nil, err
	}
	return &releaseClient{ReleaseQuery: q, env: e, updates: updates.NewUpdates(e, client, cfg, updates.ReleaseTrust{}), images: client, configured: cfg}, nil
}

// orDefault returns architectures, or if there are none, those of the configuration.
func (c *releaseClient) orDefault(arches []release.Arch) []release.Arch {
	switch {
	case len(arches) > 0:
		return arches
	case c.configured != nil:
		return c.configured.Arches()
	}
	return []release.Arch{release.DefaultArch}
}

// policy returns how risks are counted.
func (q *ReleaseQuery) policy() path.Policy {
	p := path.Policy{Accept: q.AcceptRisk, Forbid: q.ForbidRisk}
	if q.IgnoreRisks {
		p.Mode = path.Ignore
	}
	return p
}

// A channelGraph is the update graph of a channel, and where the versions of the query are in it.
type channelGraph struct {
	*graph.Graph
	channel string
	arch    release.Arch
	url     string // of the request
	// from and to are indexes of Nodes. to is -1 if the query has no such version.
	from []int // distinct
	to   int
}

func (g *channelGraph) String() string { return fmt.Sprintf("channel %s for %s", g.channel, g.arch) }

// graph requests the graph of a channel and finds the versions of the query in it.
func (c *releaseClient) graph(ctx context.Context, channel string, arch release.Arch) (*channelGraph, error) {
	g, response, err := c.updates.Graph(ctx, c.Product, channel, arch)
	var unknown *update.UnknownChannelError
	switch {
	case errors.As(err, &unknown):
		return nil, c.suggest(unknown)
	case err != nil:
		return nil, err
	}
	out := &channelGraph{Graph: g, channel: channel, arch: arch, url: response.URL, to: -1}
	for _, version := range c.From {
		i, err := c.find(ctx, out, "Options.From", version)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out.from, i) {
			out.from = append(out.from, i)
		}
	}
	if c.To != "" {
		if out.to, err = c.find(ctx, out, "Options.To", c.To); err != nil {
			return nil, err
		}
	}
	for _, name := range path.Unknown(g, c.policy()) {
		near := suggest.Phrase(name, path.Names(g))
		if near != "" {
			near = "; " + near
		}
		c.env.Warnf("no update of %s has the risk %q%s", out, name, near)
	}
	return out, nil
}

// find returns the index of a version of the query.
func (c *releaseClient) find(ctx context.Context, g *channelGraph, option, version string) (int, error) {
	v, err := semver.Parse(version)
	if err != nil {
		return 0, env.Inputf("%s: %w", option, err)
	}
	i, ok := g.Find(v)
	if !ok {
		return 0, c.unknownVersion(ctx, option, v, g)
	}
	return i, nil
}

// suggest adds the channels that may be meant to the error for an unknown channel.
func (c *releaseClient) suggest(e *update.UnknownChannelError) error {
	kind, minor, _ := strings.Cut(e.Channel, "-")
	if c.Product != release.OCP || !updates.MinorVersion().MatchString(minor) {
		return e
	}
	if slices.Contains(kindsOfChannels[:], kind) {
		return advice.Wrap(advice.Failure, e, "gantry list releases --version "+minor+" --channels lists those that exist")
	}
	with := *e
	for _, kind := range kindsOfChannels {
		with.Channels = append(slices.Clip(with.Channels), kind+"-"+minor)
	}
	return &with
}

// unknownVersion returns the error for a version that a channel does not have. It names the channel of
// the same minor version that has it, or else the nearest versions.
func (c *releaseClient) unknownVersion(ctx context.Context, option string, v semver.Version, g *channelGraph) error {
	for _, kind := range kindsOfChannels {
		name := fmt.Sprintf("%s-%d.%d", kind, v.Major, v.Minor)
		if name == g.channel || c.Product != release.OCP {
			continue
		}
		// An error is ignored: this request only improves the message.
		if other, _, err := c.updates.Graph(ctx, release.OCP, name, g.arch); err == nil {
			if _, ok := other.Find(v); ok {
				return env.InputHint("channel "+name+" has it", "%s %s is not in %s", option, v, g)
			}
		}
	}
	i, _ := g.Find(v)
	var near []string
	if i > 0 {
		near = append(near, g.Nodes[i-1].Version.String())
	}
	if i < len(g.Nodes) {
		near = append(near, g.Nodes[i].Version.String())
	}
	hint := fmt.Sprintf("it has %s; gantry list releases --channel %s lists all", strings.Join(near, " and "), g.channel)
	return env.InputHint(hint, "%s %s is not in %s", option, v, g)
}

// paths returns the best path from each version of From to To, or to the head. If a path may not be
// taken or is missing, there is an error of kind Input, too; the best of the paths that may not be
// taken are returned.
func (q *ReleaseQuery) paths(g *channelGraph, policy path.Policy) ([]path.Path, error) {
	to := g.to
	if to < 0 {
		to = g.Head()
	}
	from := elements.Map(g.from, func(i int) semver.Version { return g.Nodes[i].Version })
	paths, err := path.Find(g.Graph, from, g.Nodes[to].Version, policy)
	if err == nil {
		return paths, nil
	}
	return append(paths, path.Blocked(err)...), env.Inputf("%s: %w", g, err)
}
