package build

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/path"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// addInstalled adds the update paths from the versions that clusters run to the end of their channel, and from there through
// the later channels of the configuration. If no later channel contains the end yet, the path leaves the channel at a release
// before it, and the end is kept. It is an error if no path leads to the later channels, or a warning if that may be intended.
func (c *releaseSelection) addInstalled(all []*channel, ch *channel) error {
	router := installedRouter(all, ch)
	leaving := map[int][]int{} // the installed nodes, by the node at which their clusters leave the channel
	var problems []error
	for _, node := range ch.installed {
		if node > ch.max || len(router.later(ch)) == 0 {
			leaving[ch.max] = append(leaving[ch.max], node)
			continue
		}
		route, err := router.route(ch, node)
		if err != nil {
			v := ch.graph.Nodes[node].Version
			next := router.next(ch)
			err = fmt.Errorf("no update from %s to channel %s is possible: %w", v, next.Name, err)
			if ch.mustLeadTo(next, v) {
				problems = append(problems, ch.pathError(err))
				continue
			}
			c.warn(ch.pathError(err).Error())
			route = router.routeBelow(ch, node)
		}
		leaving[route[0].to] = append(leaving[route[0].to], node)
		c.addRoute(router, route[1:])
	}
	for _, end := range slices.Sorted(maps.Keys(leaving)) {
		problems = append(problems, c.addInstalledPaths(ch, leaving[end], end))
	}
	return errors.Join(problems...)
}

// installedRouter returns the router for clusters that use a channel. They go on to channels of the same kind if the
// configuration has a later one, and not to another channel of the same minor version.
func installedRouter(all []*channel, ch *channel) *channelRouter {
	same := slices.DeleteFunc(slices.Clone(all), func(o *channel) bool { return o.kind() != ch.kind() })
	r := newChannelRouter(same, ch, (*channel).policy)
	r.minor = true
	if len(r.later(ch)) == 0 {
		r = newChannelRouter(all, ch, (*channel).policy)
		r.minor = true
	}
	return r
}

// addInstalledPaths adds the paths from installed versions to the release at which their clusters
// leave the channel. The end of the channel is kept, with a path from there if there is one.
func (c *releaseSelection) addInstalledPaths(ch *channel, nodes []int, end int) error {
	paths, err := path.Find(ch.graph, versions(ch.graph, nodes), ch.graph.Nodes[end].Version, ch.policy())
	c.addPaths(ch, paths, reasonFrom)
	if err != nil || end == ch.max {
		return ch.pathError(err)
	}
	if paths, err = path.Find(ch.graph, versions(ch.graph, []int{end}), ch.maxVersion(), ch.policy()); err == nil {
		c.addPaths(ch, paths, reasonPath)
		return nil
	}
	paths, err = path.Find(ch.graph, versions(ch.graph, nodes), ch.maxVersion(), ch.policy())
	c.addPaths(ch, paths, reasonFrom)
	return ch.pathError(err)
}

// namedForMinor matches the channels that are named for a minor version, such as "eus-4.20".
var namedForMinor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]+-[0-9]+\.[0-9]+$`) })

// mustLeadTo reports whether a missing path from an installed version to a later channel is an error.
// It is not if the configuration may mean clusters that are independent of each other: the later
// channel has installed versions of its own, or the channels are not named for minor versions, or
// the version was reported for a cluster and does not come from the field from.
func (ch *channel) mustLeadTo(next *channel, installed semver.Version) bool {
	return len(next.From) == 0 && namedForMinor().MatchString(ch.Name) && namedForMinor().MatchString(next.Name) &&
		slices.ContainsFunc(ch.From, func(v imageset.InstalledVersion) bool { return v.Version == installed.String() })
}

// connectChannels adds the path from the lowest version of all channels of one product and architecture to the highest. It uses
// the graph of the channel with the highest version, which contains earlier minor versions too. If that does not reach back far
// enough, the path leads through other channels. A missing path is an error if shortestPath asks for paths, otherwise a note;
// it is a warning if the channels have no release in common.
func (c *releaseSelection) connectChannels(all []*channel, arch release.Arch, product release.Product) error {
	var target, source *channel
	for _, ch := range all {
		if ch.arch != arch || ch.Product != product {
			continue
		}
		if target == nil || higher(ch, ch.max, target, target.max) {
			target = ch
		}
		if low := ch.lowest(); low >= 0 && (source == nil || higher(source, source.lowest(), ch, low)) {
			source = ch
		}
	}
	if source == nil || source == target || !higher(target, target.max, source, source.lowest()) {
		return nil
	}
	router := newChannelRouter(all, source, func(ch *channel) path.Policy {
		p := ch.policy()
		p.AllowAlways = true
		return p
	})
	route, err := router.connect(source)
	if err == nil {
		c.addRoute(router, route)
		return nil
	}
	for lower := router.below(); lower != nil && route == nil; lower = lower.below() {
		route, _ = lower.connect(source)
	}
	c.addRoute(router, route)
	var step *stepError
	switch {
	case !errors.As(err, &step):
		c.warn(fmt.Sprintf("no update from %s of %s to %s is planned for %s: %v",
			source.graph.Nodes[source.lowest()].Version, source.Name, target.maxVersion(), arch, err))
	case source.ShortestPath || step.channel.ShortestPath:
		return inputErrorf("%s: %w", step.channel.Pos, err)
	default:
		c.notes = append(c.notes, err.Error())
	}
	return nil
}

// connect returns the route from the lowest selected release of a channel, preferably in the channel
// that ends highest. If only the head is selected and no later channel contains it, the route begins
// at the highest release of the same minor version from which there is one.
func (r *channelRouter) connect(source *channel) ([]channelStep, error) {
	lowest := source.lowest()
	v := source.graph.Nodes[lowest].Version
	var problem error
	for _, ch := range r.channels {
		i, ok := ch.graph.Find(v)
		if !ok || graph.Compare(ch.maxVersion(), v) <= 0 {
			continue
		}
		route, err := r.route(ch, i)
		if err == nil {
			return route, nil
		}
		if problem == nil || !errors.As(problem, new(*stepError)) {
			problem = err
		}
	}
	if problem != nil || len(r.later(source)) == 0 {
		return nil, problem
	}
	for n := lowest - 1; source.Range.IsZero() && n >= 0; n-- {
		at := source.graph.Nodes[n].Version
		if at.Major != v.Major || at.Minor != v.Minor {
			break
		}
		route, err := r.leave(source, n)
		if err == nil {
			return append([]channelStep{{source, n, n}}, route...), nil
		}
		if problem == nil && !noCrossingFrom(source, err) {
			problem = err
		}
	}
	if problem == nil {
		problem = &noCrossingError{v, source, r.next(source)}
	}
	return nil, problem
}

// addRoute adds the paths of a route.
func (c *releaseSelection) addRoute(r *channelRouter, route []channelStep) {
	for _, step := range route {
		g := step.channel.graph
		if step.from == step.to {
			continue
		}
		paths, err := path.Find(g, versions(g, []int{step.from}), g.Nodes[step.to].Version, r.policy(step.channel))
		if err != nil { // cannot happen: the router found a path
			c.problems = append(c.problems, step.channel.pathError(err))
		}
		c.addPaths(step.channel, paths, reasonPath)
	}
}
