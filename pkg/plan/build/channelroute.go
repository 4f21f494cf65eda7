package build

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/path"
)

// A channelRouter finds update paths that lead through several channels: from a release in one channel to the end of the
// channel that ends highest. Clusters can change channels at every release that both contain. The end of a channel is often in
// no later channel yet, because a new release is promoted to one channel after the other.
type channelRouter struct {
	channels []*channel // of one product and architecture, the one that ends highest first
	policy   func(*channel) path.Policy
	// minor is true if a channel is later than another only if it ends in a later minor version.
	minor bool
	known map[channelNode]routeResult
}

type channelNode struct {
	channel *channel
	node    int
}

type routeResult struct {
	route []channelStep
	err   error
}

// A channelStep is the part of a route in one channel.
type channelStep struct {
	channel  *channel
	from, to int // nodes of its graph
}

// A stepError is the error of a path in one channel of a route.
type stepError struct {
	channel *channel
	err     error
}

func (e *stepError) Error() string { return fmt.Sprintf("%s: %v", e.channel, e.err) }
func (e *stepError) Unwrap() error { return e.err }

// A noCrossingError means that no release of a channel leads on to a later channel.
type noCrossingError struct {
	at   semver.Version // where the search began
	from *channel
	next *channel // the first channel that ends later
}

func (e *noCrossingError) Error() string {
	end := e.from.maxVersion()
	text := fmt.Sprintf("channel %s does not contain %s", e.next.Name, e.at)
	if graph.Compare(e.at, end) < 0 {
		text = fmt.Sprintf("channel %s contains none of the releases that %s can be updated to in channel %s, up to %s", e.next.Name, e.at, e.from.Name, end)
	}
	if shared := e.from.highestShared(e.next); shared != "" {
		text += fmt.Sprintf("; the highest release of channel %s that it contains is %s", e.from.Name, shared)
	}
	return text + "; add a channel between them, wait until a later release is in both, or use a configuration for each channel"
}

// noCrossingFrom reports whether an error means that no release of a channel leads on.
func noCrossingFrom(ch *channel, err error) bool {
	var none *noCrossingError
	return errors.As(err, &none) && none.from == ch
}

// newChannelRouter makes a router for the product and architecture of one of all channels.
func newChannelRouter(all []*channel, ch *channel, policy func(*channel) path.Policy) *channelRouter {
	r := &channelRouter{policy: policy, known: map[channelNode]routeResult{}}
	for _, o := range all {
		if o.arch == ch.arch && o.Product == ch.Product {
			r.channels = append(r.channels, o)
		}
	}
	elements.Sort(r.channels, func(a, b *channel) int { return graph.Compare(b.maxVersion(), a.maxVersion()) })
	return r
}

// compareEnds orders channels by their ends, or by the minor versions of these.
func (r *channelRouter) compareEnds(a, b *channel) int {
	x, y := a.maxVersion(), b.maxVersion()
	if r.minor {
		return cmp.Or(cmp.Compare(x.Major, y.Major), cmp.Compare(x.Minor, y.Minor))
	}
	return graph.Compare(x, y)
}

// later returns the channels that end after a channel, the one that ends highest first.
func (r *channelRouter) later(ch *channel) (all []*channel) {
	return elements.Filter(r.channels, func(o *channel) bool { return r.compareEnds(o, ch) > 0 })
}

// next returns the first channel that ends after a channel. There is one.
func (r *channelRouter) next(ch *channel) *channel {
	later := r.later(ch)
	return later[len(later)-1]
}

// below returns a router without the channels that end highest; nil if no channel is left.
func (r *channelRouter) below() *channelRouter {
	i := slices.IndexFunc(r.channels, func(ch *channel) bool { return r.compareEnds(ch, r.channels[0]) < 0 })
	if i < 0 {
		return nil
	}
	return &channelRouter{channels: r.channels[i:], policy: r.policy, minor: r.minor, known: map[channelNode]routeResult{}}
}

// route returns the steps from a node of a channel to the highest end. The channel is left at its highest release that leads
// on, and for the channel that ends highest among those that contain that release.
func (r *channelRouter) route(ch *channel, node int) ([]channelStep, error) {
	at := channelNode{ch, node}
	if _, ok := r.known[at]; !ok {
		route, err := r.find(ch, node)
		r.known[at] = routeResult{route, err}
	}
	return r.known[at].route, r.known[at].err
}

func (r *channelRouter) find(ch *channel, node int) ([]channelStep, error) {
	start := ch.graph.Nodes[node].Version
	if len(r.later(ch)) == 0 {
		if _, err := path.Find(ch.graph, []semver.Version{start}, ch.maxVersion(), r.policy(ch)); err != nil {
			return nil, &stepError{ch, err}
		}
		return []channelStep{{ch, node, ch.max}}, nil
	}
	reachable, err := path.Reachable(ch.graph, start, r.policy(ch))
	if err != nil {
		return nil, &stepError{ch, err}
	}
	nodes := []int{node}
	for _, t := range reachable {
		if t.Node <= ch.max {
			nodes = append(nodes, t.Node)
		}
	}
	var problem error
	for _, n := range slices.Backward(nodes) {
		rest, err := r.leave(ch, n)
		if err == nil {
			return append([]channelStep{{ch, node, n}}, rest...), nil
		}
		if problem == nil && !noCrossingFrom(ch, err) {
			problem = err
		}
	}
	if problem == nil {
		problem = &noCrossingError{start, ch, r.next(ch)}
	}
	return nil, problem
}

// leave returns the route from a release in the later channels that contain it.
func (r *channelRouter) leave(ch *channel, node int) ([]channelStep, error) {
	v := ch.graph.Nodes[node].Version
	var problem error
	for _, next := range r.later(ch) {
		i, ok := next.graph.Find(v)
		if !ok {
			continue
		}
		route, err := r.route(next, i)
		if err == nil {
			return route, nil
		}
		problem = cmp.Or(problem, err)
	}
	if problem == nil {
		problem = &noCrossingError{v, ch, r.next(ch)}
	}
	return nil, problem
}

// highestShared returns the highest selectable release that another channel contains too, or "".
func (ch *channel) highestShared(other *channel) string {
	for i := ch.max; i >= 0; i-- {
		v := ch.graph.Nodes[i].Version
		if _, ok := other.graph.Find(v); ok {
			return v.String()
		}
	}
	return ""
}

// routeBelow returns the route from a node of a channel to the highest end that it leads to, below
// the highest of all. It is at least the path to the end of the channel.
func (r *channelRouter) routeBelow(ch *channel, node int) []channelStep {
	for lower := r.below(); lower != nil && len(lower.later(ch)) > 0; lower = lower.below() {
		if route, err := lower.route(ch, node); err == nil {
			return route
		}
	}
	return []channelStep{{ch, node, ch.max}}
}
