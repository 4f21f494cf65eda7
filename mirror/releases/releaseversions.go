package releases

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/platform/update"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// lastProbed is the last minor version of OpenShift 4 that is tried to find a first channel.
const lastProbed = 40

// versions returns one channel for each minor version that the update service has: the most
// conservative one with releases. An update service does not list its channels. Its releases name the
// channels that they are in, also those of later minor versions, so that one channel leads to all.
func (c *releaseClient) versions(ctx context.Context, arches []release.Arch) ([]ListedChannel, error) {
	known := map[updates.Minor][]string{} // kinds of channels
	done := map[updates.Minor]bool{}
	var found []ListedChannel
	for n := 0; n <= lastProbed && len(found) == 0; n++ {
		known[updates.Minor{Major: 4, Minor: n}] = kindsOfChannels[:1]
		all, err := c.follow(ctx, known, done, arches)
		if err != nil {
			return nil, err
		}
		found = all
	}
	if len(found) == 0 {
		return nil, env.InputHint("check Options.Arch, and the address of the update service", "no stable channel from 4.0 to 4.%d has releases for %s", lastProbed, alternatives(arches))
	}
	return found, nil
}

// follow requests a channel of each known version that was not requested before, and of those that its
// releases name, and returns them, newest first.
func (c *releaseClient) follow(ctx context.Context, known map[updates.Minor][]string, done map[updates.Minor]bool, arches []release.Arch) ([]ListedChannel, error) {
	type listed struct {
		updates.Minor
		channels []ListedChannel
	}
	var all []listed
	for {
		next, ok := firstPending(known, done)
		if !ok {
			break
		}
		done[next] = true
		l := listed{Minor: next}
		for _, kind := range kindsOfChannels {
			if len(l.channels) > 0 || !slices.Contains(known[next], kind) {
				continue
			}
			graphs, err := c.graphs(ctx, kind+"-"+next.String(), arches)
			if err != nil {
				return nil, err
			}
			for _, g := range graphs {
				l.channels = append(l.channels, g.outline())
				g.addChannels(known)
			}
		}
		if len(l.channels) > 0 {
			all = append(all, l)
		}
	}
	elements.Sort(all, func(a, b listed) int { return b.Compare(a.Minor) })
	var out []ListedChannel
	for _, l := range all {
		out = append(out, l.channels...)
	}
	return out, nil
}

// firstPending returns the lowest version that was not requested.
func firstPending(known map[updates.Minor][]string, done map[updates.Minor]bool) (updates.Minor, bool) {
	var first updates.Minor
	some := false
	for m := range known {
		if !done[m] && (!some || m.Compare(first) < 0) {
			first, some = m, true
		}
	}
	return first, some
}

// graphs returns the graphs of a channel for those architectures that it has releases for.
func (c *releaseClient) graphs(ctx context.Context, channel string, arches []release.Arch) ([]*channelGraph, error) {
	var all []*channelGraph
	for _, arch := range arches {
		var unknown *update.UnknownChannelError
		switch g, err := c.graph(ctx, channel, arch); {
		case err == nil:
			all = append(all, g)
		case !errors.As(err, &unknown):
			return nil, err
		}
	}
	return all, nil
}

// addChannels adds the channels that the releases of a graph name.
func (g *channelGraph) addChannels(known map[updates.Minor][]string) {
	for _, n := range g.Nodes {
		for _, channel := range n.Channels {
			kind, version, _ := strings.Cut(channel, "-")
			m, ok := updates.ParseMinor(version)
			if ok && slices.Contains(kindsOfChannels[:], kind) && !slices.Contains(known[m], kind) {
				known[m] = append(slices.Clip(known[m]), kind)
			}
		}
	}
}
