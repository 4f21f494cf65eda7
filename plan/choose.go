package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
	"github.com/gantry-mirror/gantry/pkg/release/path"
)

// Updates tells of platform releases: what leads to what, and who signed it.
type Updates interface {
	// Graph is the update graph of a channel for one architecture, and where it
	// comes from. A channel that does not exist is an error.
	Graph(ctx context.Context, product release.Product, channel string, arch release.Arch) (*graph.Graph, UpdateGraph, error)
	// GraphData is the graph data as it is published, a tar.gz, and where it was
	// found, without credentials.
	GraphData(ctx context.Context) (source string, tarball []byte, err error)
	// Signatures are the signatures of a payload, each of which was verified. That
	// none verifies is an error, a release.ErrUnsigned where there is none at all.
	Signatures(ctx context.Context, product release.Product, payload digest.Digest) ([][]byte, error)
}

// words of ReleaseReason.
const (
	reasonHead    = "head"
	reasonRange   = "range"
	reasonFull    = "full"
	reasonPath    = "path"
	reasonFrom    = "from"
	reasonRelease = "release"
)

// A choice is what a configuration takes of the channels, before any payload is
// read.
type choice struct {
	releases []*chosenRelease
	updates  []UpdatePath
	graphs   []UpdateGraph
	notes    []string
	warnings []string // those of the notes that are dangerous
	problems []error
}

// A chosenRelease is a release that somebody asked for.
type chosenRelease struct {
	product release.Product
	arch    release.Arch
	version string
	payload string // by digest
	reasons []ReleaseReason
}

func (c *chosenRelease) name() string { return release.Name(c.version, c.arch) }

// choose finds the releases and updates of the channels.
func choose(ctx context.Context, cfg *imageset.Releases, from Updates, clusters []Cluster, blocked []imageset.Blocked) (*choice, error) {
	var all []*channel
	for _, arch := range cfg.Arches() {
		for _, c := range cfg.Channels {
			all = append(all, &channel{ReleaseChannel: c, arch: arch})
		}
	}
	err := each(ctx, len(all), func(ctx context.Context, i int) error { return all[i].read(ctx, from, blocked) })
	if err != nil {
		return nil, err
	}
	c := &choice{}
	if err := c.enter(all, clusters); err != nil {
		return nil, err
	}
	c.unknownRisks(all)
	var problems []error
	for i, ch := range all {
		c.graphs = append(c.graphs, ch.whose)
		c.notes = append(c.notes, ch.remarks()...)
		problems = append(problems, c.take(ch))
		first := slices.IndexFunc(all, func(o *channel) bool { return o.arch == ch.arch && o.Product == ch.Product })
		if first == i {
			problems = append(problems, c.across(all, ch.arch, ch.Product))
		}
	}
	c.sort()
	return c, errors.Join(append(problems, c.problems...)...)
}

// take enters the releases of one channel.
func (c *choice) take(ch *channel) error {
	g := ch.graph
	var problem error
	if len(ch.from) > 0 {
		paths, err := path.Find(g, versions(g, ch.from), g.Nodes[ch.max].Version, ch.policy())
		problem = ch.wrong(err)
		c.follow(ch, paths, reasonFrom)
	}
	switch {
	case len(ch.From) > 0:
	case ch.ShortestPath && !ch.Range.IsZero():
		paths, err := ch.through(ch.min)
		problem = errors.Join(problem, ch.wrong(err))
		c.follow(ch, paths, reasonPath)
	case ch.Range.IsZero() && ch.Full:
		for i := range g.Nodes {
			c.add(ch, i, reasonFull)
		}
		c.notes = append(c.notes, fmt.Sprintf("%s is taken whole: %s from %s to %s",
			ch, count(len(g.Nodes), "release", "releases"), g.Nodes[0].Version, g.Nodes[len(g.Nodes)-1].Version))
	case ch.Range.IsZero():
		c.add(ch, ch.max, reasonHead)
	default:
		for i := ch.min; i <= ch.max; i++ {
			c.add(ch, i, reasonRange)
		}
		if ch.Range.Min != "" && ch.min < ch.max {
			// All of the range is taken anyway: that nothing leads through it is worth
			// a note.
			paths, err := ch.through(ch.min)
			if err != nil {
				c.notes = append(c.notes, fmt.Sprintf("%s: %v", ch, err))
			}
			c.follow(ch, paths, reasonRange)
		}
	}
	return problem
}

// wrong says where the channel is that has no path.
func (ch *channel) wrong(err error) error {
	if err == nil {
		return nil
	}
	return &InputError{fmt.Errorf("%s: %s: %w", ch.Pos, ch, err)}
}

// follow enters paths and the releases on them.
//
// first is the reason for the release that a path begins with. Of two paths with the
// same ends the first stays: it is the one that clusters or from asked for.
func (c *choice) follow(ch *channel, paths []path.Path, first string) {
	for _, p := range paths {
		u := NewUpdatePath(ch.Product, ch.arch, ch.Name, p)
		if slices.ContainsFunc(c.updates, func(o UpdatePath) bool {
			return o.Product == u.Product && o.Arch == u.Arch && o.Channel == u.Channel && o.From == u.From && o.To == u.To
		}) {
			continue
		}
		c.add(ch, p.Nodes[0], first)
		for _, h := range p.Hops {
			c.add(ch, h.ToNode, reasonPath)
		}
		c.updates = append(c.updates, u)
	}
}

// risks are those of a hop, as the plan has them.
func risks(h path.Hop) []Risk {
	var out []Risk
	for _, r := range h.Risks {
		risk := Risk{Name: r.Name, Message: r.Message, URL: r.URL, Rules: []RiskRule{}, Accepted: r.Accepted}
		for _, rule := range r.Rules {
			risk.Rules = append(risk.Rules, RiskRule{Type: rule.Type, PromQL: rule.PromQL})
		}
		out = append(out, risk)
	}
	return out
}

// add enters a release. Several channels may have it, as the same payload.
func (c *choice) add(ch *channel, node int, reason string) {
	n := ch.graph.Nodes[node]
	name := release.Name(n.Version.String(), ch.arch)
	why := ReleaseReason{Reason: reason, Channel: ch.Name}
	i := slices.IndexFunc(c.releases, func(r *chosenRelease) bool { return r.name() == name })
	if i < 0 {
		c.releases = append(c.releases, &chosenRelease{
			product: ch.Product, arch: ch.arch, version: n.Version.String(), payload: n.Payload, reasons: []ReleaseReason{why},
		})
		return
	}
	r := c.releases[i]
	if r.payload != n.Payload || r.product != ch.Product {
		c.problems = append(c.problems, fmt.Errorf("%s: release %s is %s in channel %s and %s in channel %s: a mirror holds one of a name, so take one of the channels out",
			ch.Pos, name, r.payload, r.reasons[0].Channel, n.Payload, ch.Name))
		return
	}
	if !slices.Contains(r.reasons, why) {
		r.reasons = append(r.reasons, why)
	}
}

// across leads from the lowest version that channels of one product and
// architecture begin with to the highest that they end with, in the graph of the
// channel that has the latter, which holds earlier minor versions too. Where that
// does not go back so far, it leads over the ends of other channels. That there is
// no such path is an error where shortestPath asks for paths, else a note.
func (c *choice) across(all []*channel, arch release.Arch, product release.Product) error {
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
	for at, where := source.graph.Nodes[source.lowest()].Version, source; graph.Compare(at, target.end()) < 0; {
		next, node := leading(all, where, at)
		if next == nil {
			c.notes = append(c.notes, fmt.Sprintf("no update from %s of %s to %s is planned for %s, since no channel that ends above it has it: mirror one that does, or write from: under that which clusters go to",
				at, where.Name, target.end(), arch))
			return nil
		}
		paths, err := next.through(node)
		c.follow(next, paths, reasonPath)
		switch {
		case err == nil:
		case source.ShortestPath || next.ShortestPath:
			return next.wrong(err)
		default:
			c.notes = append(c.notes, fmt.Sprintf("%s: %v", next, err))
			return nil
		}
		at, where = next.end(), next
	}
	return nil
}

// leading is the channel that leads highest from a version which a channel of the
// same product and architecture has, and the version's node there; nil where none
// ends above it.
func leading(all []*channel, where *channel, at semver.Version) (next *channel, node int) {
	for _, ch := range all {
		if ch.arch != where.arch || ch.Product != where.Product || graph.Compare(ch.end(), at) <= 0 {
			continue
		}
		if i, ok := ch.graph.Find(at); ok && (next == nil || higher(ch, ch.max, next, next.max)) {
			next, node = ch, i
		}
	}
	return next, node
}

func higher(a *channel, i int, b *channel, j int) bool {
	return graph.Compare(a.graph.Nodes[i].Version, b.graph.Nodes[j].Version) > 0
}

// sort puts everything into the order of the plan.
func (c *choice) sort() {
	slices.SortFunc(c.releases, func(a, b *chosenRelease) int { return strings.Compare(a.name(), b.name()) })
	for _, r := range c.releases {
		slices.SortFunc(r.reasons, func(a, b ReleaseReason) int {
			return cmp.Or(strings.Compare(a.Channel, b.Channel), strings.Compare(a.Reason, b.Reason))
		})
	}
	slices.SortFunc(c.graphs, func(a, b UpdateGraph) int { return strings.Compare(a.URL, b.URL) })
	c.graphs = slices.Compact(c.graphs) // channels of OKD may have one
	slices.SortFunc(c.updates, func(a, b UpdatePath) int {
		return cmp.Or(strings.Compare(string(a.Product), string(b.Product)), strings.Compare(string(a.Arch), string(b.Arch)),
			strings.Compare(a.Channel, b.Channel), compareVersions(a.From, b.From), compareVersions(a.To, b.To))
	})
}

// compareVersions orders versions that parse.
func compareVersions(a, b string) int {
	x, errX := semver.Parse(a)
	y, errY := semver.Parse(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return graph.Compare(x, y)
}
