package releases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/platform/path"
	"github.com/gantry-mirror/gantry/pkg/platform/update"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// ListOptions says what Releases lists: the channels of a version, the releases of a channel, those
// that each version of From can be updated to, or the paths from From to To. Without any of these, it is
// one channel of each minor version.
type ListOptions struct {
	Env *env.Env
	ReleaseQuery
	// Channel is the channel to list. It excludes Version and Channels.
	Channel string
	// Version is a minor version, such as "4.20": the channel stable-4.20 is listed.
	Version string
	// Channels lists the channels of Version.
	Channels bool
	// Arch are the architectures of the releases. The default are those of Config, or amd64.
	Arch []string
	// Sizes reads the payload of each listed release and the manifests of its images, and sets Size. A
	// release has about 200 images.
	Sizes bool
}

// A ReleaseList is the result of Releases. Its JSON is what gantry list releases --output json prints.
type ReleaseList struct {
	Version  int             `json:"version"`
	Product  release.Product `json:"product"`
	Channels []ListedChannel `json:"channels"`
}

// A ListedChannel is a channel for one architecture: without releases in a list of channels, with its
// releases, or with a path. With several versions in From, there is one for each.
type ListedChannel struct {
	Name  string       `json:"name"`
	Arch  release.Arch `json:"arch"`
	URL   string       `json:"url"` // of the request
	Head  string       `json:"head"`
	Count int          `json:"count"` // number of all its releases
	// From is the version that a cluster runs. If set, Releases are those that it can reach.
	From     string           `json:"from,omitempty"`
	Releases []ListedRelease  `json:"releases,omitzero"` // newest first; nil in a list of channels and with a path
	Path     *plan.UpdatePath `json:"path,omitempty"`
}

// A ListedRelease is a release of a channel.
type ListedRelease struct {
	Version  string   `json:"version"`
	Payload  string   `json:"payload"`
	URL      string   `json:"url,omitempty"` // of the erratum
	Channels []string `json:"channels,omitempty"`
	Head     bool     `json:"head,omitempty"`
	// Size is the number of bytes of the payload and all images that it names, shared content counted
	// once. It is 0 without ListOptions.Sizes, or if the payload cannot be read.
	Size    int64    `json:"size,omitempty"`
	Reached *Reached `json:"reached,omitempty"`
}

// Reached describes the best path to a release.
type Reached struct {
	Hops int `json:"hops"`
	// Risks counts a risk on each hop that has it, unless it is accepted.
	Risks int `json:"risks"`
	// Always counts the risks that apply to every cluster.
	Always int `json:"always"`
}

// Releases lists platform releases as the update service knows them. If there is no acceptable path to
// To, it returns an error of kind Input, and the list with the best path, if any.
func Releases(ctx context.Context, o ListOptions) (*ReleaseList, error) {
	e, done := o.Env.OrDefault()
	defer done()
	arches, err := o.parse()
	if err != nil {
		return nil, err
	}
	c, err := newReleaseClient(e, &o.ReleaseQuery)
	if err != nil {
		return nil, err
	}
	arches = c.orDefault(arches)
	l := &ReleaseList{Version: 1, Product: o.Product}
	switch {
	case o.Channel == "" && o.Version == "":
		if l.Channels, err = c.versions(ctx, arches); err != nil {
			return nil, err
		}
		return l, nil
	case o.Channels:
		if l.Channels, err = c.channels(ctx, o.Version, arches); err != nil {
			return nil, err
		}
		return l, nil
	}
	channel := o.Channel
	if channel == "" {
		channel = "stable-" + o.Version
		e.Noticef("listing %s; Options.Channels lists all channels of %s", channel, o.Version)
	}
	var problems []error
	for _, arch := range arches {
		g, err := c.graph(ctx, channel, arch)
		if err != nil {
			return nil, err
		}
		entries, err := c.list(g)
		l.Channels = append(l.Channels, entries...)
		if err != nil {
			problems = append(problems, err)
		}
	}
	if o.Sizes {
		c.addSizes(ctx, l)
	}
	err = errors.Join(problems...)
	if o.To != "" && !slices.ContainsFunc(l.Channels, func(c ListedChannel) bool { return c.Path != nil }) {
		return nil, err
	}
	return l, err
}

// parse returns the architectures, or an error if options are missing or contradict each other.
func (o *ListOptions) parse() ([]release.Arch, error) {
	switch {
	case o.Channel == "" && o.Version == "" && (o.Channels || o.Sizes || len(o.From) > 0 || o.To != "" || o.Product != "" && o.Product != release.OCP):
		return nil, env.InputHint("give Options.Channel stable-4.20, or Options.Version 4.20 with Options.Channels to list the channels", "Options.Channel or Options.Version is required")
	case o.Channel != "" && (o.Version != "" || o.Channels):
		return nil, env.InputHint("leave out one of them", "Options.Channel excludes Options.Version and Options.Channels")
	case o.Channels && (len(o.From) > 0 || o.To != ""):
		return nil, env.InputHint("name a channel with Options.Channel", "Options.From and Options.To are for the releases of a channel")
	case o.To != "" && len(o.From) == 0:
		return nil, env.InputHint("give the version that the cluster runs with Options.From", "Options.To %s requires Options.From", o.To)
	case o.Version != "" && !updates.MinorVersion().MatchString(o.Version):
		return nil, env.InputHint("give the minor version as 4.20", "Options.Version %q", o.Version)
	case o.Version != "" && o.Product != "" && o.Product != release.OCP:
		return nil, env.InputHint("name a channel with Options.Channel", "Options.Version is only for channels of ocp")
	}
	return parseArches(o.Arch)
}

// channels returns the channels of a minor version. It is an error if there are none, or if a request
// fails.
func (c *releaseClient) channels(ctx context.Context, version string, arches []release.Arch) ([]ListedChannel, error) {
	var (
		found   []ListedChannel
		unknown *update.UnknownChannelError
	)
	for _, kind := range kindsOfChannels {
		for _, arch := range arches {
			g, err := c.graph(ctx, kind+"-"+version, arch)
			switch {
			case err == nil:
				found = append(found, g.outline())
			case !errors.As(err, &unknown):
				return nil, err
			}
		}
	}
	if len(found) == 0 {
		return nil, env.InputHint("check the version, and Options.Arch", "Options.Version %s: no channel has releases for %s at %s", version, alternatives(arches), updates.ShownAddress(unknown.URL))
	}
	return found, nil
}

// alternatives returns architectures as "amd64, arm64 or multi".
func alternatives(arches []release.Arch) string {
	names := make([]string, len(arches))
	for i, arch := range arches {
		names[i] = string(arch)
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// outline returns the entry of a channel in a list of channels.
func (g *channelGraph) outline() ListedChannel {
	return ListedChannel{Name: g.channel, Arch: g.arch, URL: g.url, Head: g.Nodes[g.Head()].Version.String(), Count: len(g.Nodes)}
}

// release returns the entry of a release in the list of a channel.
func (g *channelGraph) release(i int) ListedRelease {
	n := g.Nodes[i]
	return ListedRelease{Version: n.Version.String(), Payload: n.Payload, URL: n.URL, Channels: n.Channels, Head: i == g.Head()}
}

// list returns the entries of a channel. They are set even if there is an error.
func (c *releaseClient) list(g *channelGraph) ([]ListedChannel, error) {
	switch {
	case len(g.from) == 0:
		out := g.outline()
		for i := range slices.Backward(g.Nodes) {
			out.Releases = append(out.Releases, g.release(i))
		}
		return []ListedChannel{out}, nil
	case g.to >= 0:
		return c.listPaths(g)
	}
	var all []ListedChannel
	for _, from := range g.from {
		out, err := c.listReachable(g, from)
		if err != nil {
			return nil, err
		}
		all = append(all, out)
	}
	return all, nil
}

// listPaths returns an entry with the path from each version of the query, or without one if there is
// none.
func (c *releaseClient) listPaths(g *channelGraph) ([]ListedChannel, error) {
	paths, err := c.paths(g, c.policy())
	var all []ListedChannel
	for _, from := range g.from {
		out := g.outline()
		out.From = g.Nodes[from].Version.String()
		if i := slices.IndexFunc(paths, func(p path.Path) bool { return p.Nodes[0] == from }); i >= 0 {
			u := build.UpdatePath(c.Product, g.arch, g.channel, paths[i])
			out.Path = &u
		}
		all = append(all, out)
	}
	return all, err
}

// listReachable returns the entry with the releases that a version can be updated to.
func (c *releaseClient) listReachable(g *channelGraph, from int) (ListedChannel, error) {
	out := g.outline()
	out.From = g.Nodes[from].Version.String()
	// Releases that are reached only with risks for every cluster are listed with their number.
	policy := c.policy()
	policy.AllowAlways = true
	targets, err := path.Reachable(g.Graph, g.Nodes[from].Version, policy)
	if err != nil {
		return out, fmt.Errorf("%s: %w", g, err)
	}
	out.Releases = []ListedRelease{}
	for _, t := range slices.Backward(targets) {
		r := g.release(t.Node)
		r.Reached = &Reached{Hops: t.Cost.Hops, Risks: t.Cost.Always + t.Cost.PromQL, Always: t.Cost.Always}
		out.Releases = append(out.Releases, r)
	}
	if more := g.Head() - from - len(targets); more > 0 {
		c.env.Noticef("%s: no updates lead from %s to %s that are newer", g, out.From, env.Number(more, "other release", "other releases"))
	}
	return out, nil
}
