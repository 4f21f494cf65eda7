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
	"github.com/gantry-mirror/gantry/pkg/suggest"
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
	// none verifies is an error.
	Signatures(ctx context.Context, product release.Product, payload digest.Digest) ([][]byte, error)
}

// A Cluster is a cluster that is there, as its ClusterVersion tells.
type Cluster struct {
	// Version is what it runs; Channel what it follows, "" if none.
	Version, Channel string
	Arch             release.Arch
	// Where says where this was read.
	Where string
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

// A channel is an entry of the configuration with its graph for one architecture.
type channel struct {
	imageset.ReleaseChannel
	arch  release.Arch
	graph *graph.Graph
	whose UpdateGraph
	// min and max are the ends of the range, in the graph.
	min, max int
	// from are the nodes of the graph that clusters run.
	from []int
}

// choose finds the releases and updates of the channels.
func choose(ctx context.Context, cfg *imageset.Releases, from Updates, clusters []Cluster) (*choice, error) {
	var all []*channel
	for _, arch := range cfg.Arches() {
		for _, c := range cfg.Channels {
			all = append(all, &channel{ReleaseChannel: c, arch: arch})
		}
	}
	err := each(ctx, len(all), func(ctx context.Context, i int) error { return all[i].read(ctx, from) })
	if err != nil {
		return nil, err
	}
	c := &choice{}
	if err := c.enter(all, clusters); err != nil {
		return nil, err
	}
	for i, ch := range all {
		c.graphs = append(c.graphs, ch.whose)
		c.notes = append(c.notes, ch.strangeRisks()...)
		if err := c.take(ch); err != nil {
			return nil, err
		}
		first := slices.IndexFunc(all, func(o *channel) bool { return o.arch == ch.arch && o.Product == ch.Product })
		if first == i {
			if err := c.across(all, ch.arch, ch.Product); err != nil {
				return nil, err
			}
		}
	}
	c.sort()
	return c, nil
}

// read fetches the graph and finds the ends of the range in it.
func (ch *channel) read(ctx context.Context, from Updates) (err error) {
	if ch.graph, ch.whose, err = from.Graph(ctx, ch.Product, ch.Name, ch.arch); err != nil {
		return fmt.Errorf("%s: %w", ch.Pos, err)
	}
	if len(ch.graph.Nodes) == 0 {
		return fmt.Errorf("%s: channel %s has no release for %s", ch.Pos, ch.Name, ch.arch)
	}
	ch.min, ch.max = 0, ch.graph.Head()
	var problems []error
	find := func(version string, at *int) {
		if version == "" {
			return
		}
		i, err := ch.find(ctx, from, version)
		if err != nil {
			problems = append(problems, err)
			return
		}
		*at = i
	}
	find(ch.Range.Min, &ch.min)
	find(ch.Range.Max, &ch.max)
	for _, v := range ch.From {
		i := 0
		find(v.Version, &i)
		ch.from = append(ch.from, i)
	}
	return errors.Join(problems...)
}

// find is the node of a version; the error says which channel has it instead.
func (ch *channel) find(ctx context.Context, from Updates, version string) (int, error) {
	v, err := semver.Parse(version)
	if err != nil {
		return 0, fmt.Errorf("%s: version %q: %w", ch.Pos, version, err)
	}
	if i, ok := ch.graph.Find(v); ok {
		return i, nil
	}
	text := fmt.Sprintf("%s: %s is not in channel %s for %s", ch.Pos, version, ch.Name, ch.arch)
	if other := ch.elsewhere(ctx, from, v); other != "" {
		return 0, fmt.Errorf("%s; it is in %s", text, other)
	}
	lower, higher := ch.around(v)
	return 0, fmt.Errorf("%s, which has %s", text, strings.Join(slices.DeleteFunc([]string{lower, higher}, func(s string) bool { return s == "" }), " and "))
}

// around are the versions of the channel next to v.
func (ch *channel) around(v semver.Version) (lower, higher string) {
	i, _ := slices.BinarySearchFunc(ch.graph.Nodes, v, func(n graph.Node, v semver.Version) int { return graph.Compare(n.Version, v) })
	if i > 0 {
		lower = ch.graph.Nodes[i-1].Version.String()
	}
	if i < len(ch.graph.Nodes) {
		higher = ch.graph.Nodes[i].Version.String()
	}
	return lower, higher
}

// elsewhere is the channel of the version's own minor that has it; "" where none
// does, or where that cannot be found out.
func (ch *channel) elsewhere(ctx context.Context, from Updates, v semver.Version) string {
	kind, _, _ := strings.Cut(ch.Name, "-")
	for _, k := range slices.Compact([]string{kind, "stable", "fast", "candidate"}) {
		name := fmt.Sprintf("%s-%d.%d", k, v.Major, v.Minor)
		if name == ch.Name {
			continue
		}
		g, _, err := from.Graph(ctx, ch.Product, name, ch.arch)
		if err != nil {
			continue
		}
		if _, ok := g.Find(v); ok {
			return name
		}
	}
	return ""
}

// take enters the releases of one channel.
func (c *choice) take(ch *channel) error {
	g := ch.graph
	if len(ch.from) > 0 {
		if err := c.lead(ch, ch.from, ch.max); err != nil {
			return err
		}
	}
	switch {
	case len(ch.From) > 0:
	case ch.ShortestPath && !ch.Range.IsZero():
		return c.span(ch)
	case ch.Range.IsZero() && ch.Full:
		for i := range g.Nodes {
			c.add(ch, i, reasonFull)
		}
		c.notes = append(c.notes, fmt.Sprintf("channel %s for %s is taken whole: %s from %s to %s",
			ch.Name, ch.arch, count(len(g.Nodes), "release", "releases"), g.Nodes[0].Version, g.Nodes[len(g.Nodes)-1].Version))
	case ch.Range.IsZero():
		c.add(ch, ch.max, reasonHead)
	default:
		for i := ch.min; i <= ch.max; i++ {
			c.add(ch, i, reasonRange)
		}
		if ch.Range.Min != "" && ch.min < ch.max {
			// All of the range is taken anyway: that nothing leads through it is worth
			// a note.
			paths, err := ch.through()
			if err != nil {
				c.notes = append(c.notes, fmt.Sprintf("channel %s for %s: %v", ch.Name, ch.arch, err))
			}
			c.follow(ch, paths)
		}
	}
	return nil
}

// lead enters the ways from some nodes to another.
func (c *choice) lead(ch *channel, from []int, to int) error {
	paths, err := path.Find(ch.graph, versions(ch.graph, from), ch.graph.Nodes[to].Version, ch.policy())
	if err != nil {
		return fmt.Errorf("%s: channel %s for %s: %w", ch.Pos, ch.Name, ch.arch, err)
	}
	c.follow(ch, paths)
	return nil
}

// span enters the way from one end of the range to the other. Who asks for it and
// says nothing of risks gets it, over conditional updates where nothing else leads
// there; the plan names their risks.
func (c *choice) span(ch *channel) error {
	paths, err := ch.through()
	if err != nil {
		return fmt.Errorf("%s: channel %s for %s: %w", ch.Pos, ch.Name, ch.arch, err)
	}
	c.follow(ch, paths)
	return nil
}

// through is the path of the range.
func (ch *channel) through() ([]path.Path, error) {
	policy := ch.policy()
	policy.AllowAlways = true
	return path.Find(ch.graph, versions(ch.graph, []int{ch.min}), ch.graph.Nodes[ch.max].Version, policy)
}

func versions(g *graph.Graph, nodes []int) []semver.Version {
	out := make([]semver.Version, len(nodes))
	for i, n := range nodes {
		out[i] = g.Nodes[n].Version
	}
	return out
}

// policy is what the channel's risks count for.
func (ch *channel) policy() path.Policy {
	p := path.Policy{Accept: ch.Risks.Accept, Forbid: ch.Risks.Forbid}
	if ch.Risks.Ignore {
		p.Mode = path.Ignore
	}
	return p
}

// strangeRisks are notes on names of the policy that no update of the channel has: a
// risk may be gone, or misspelt.
func (ch *channel) strangeRisks() []string {
	var notes []string
	for _, name := range path.Unknown(ch.graph, ch.policy()) {
		note := fmt.Sprintf("%s: no update of channel %s has the risk %q", ch.Pos, ch.Name, name)
		if p := suggest.Phrase(name, path.Names(ch.graph)); p != "" {
			note += "; " + p
		}
		notes = append(notes, note)
	}
	return notes
}

// follow enters paths and the releases on them.
func (c *choice) follow(ch *channel, paths []path.Path) {
	for _, p := range paths {
		u := UpdatePath{
			Product: ch.Product, Arch: ch.arch, Channel: ch.Name,
			From: p.From.String(), To: p.To.String(), Hops: []Hop{},
		}
		c.addVersion(ch, p.From, reasonFrom)
		for _, h := range p.Hops {
			c.addVersion(ch, h.To, reasonPath)
			u.Hops = append(u.Hops, Hop{From: h.From.String(), To: h.To.String(), Risks: risks(h)})
		}
		same := func(o UpdatePath) bool {
			return o.Product == u.Product && o.Arch == u.Arch && o.Channel == u.Channel && o.From == u.From && o.To == u.To
		}
		if !slices.ContainsFunc(c.updates, same) {
			c.updates = append(c.updates, u)
		}
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

func (c *choice) addVersion(ch *channel, v semver.Version, reason string) {
	if i, ok := ch.graph.Find(v); ok {
		c.add(ch, i, reason)
	}
}

// add enters a release.
func (c *choice) add(ch *channel, node int, reason string) {
	n := ch.graph.Nodes[node]
	why := ReleaseReason{Reason: reason, Channel: ch.Name}
	i := slices.IndexFunc(c.releases, func(r *chosenRelease) bool {
		return r.product == ch.Product && r.arch == ch.arch && r.version == n.Version.String()
	})
	if i < 0 {
		c.releases = append(c.releases, &chosenRelease{
			product: ch.Product, arch: ch.arch, version: n.Version.String(), payload: n.Payload, reasons: []ReleaseReason{why},
		})
		return
	}
	r := c.releases[i]
	if !slices.Contains(r.reasons, why) {
		r.reasons = append(r.reasons, why)
	}
}

// across leads from the lowest version that channels of one product and
// architecture begin with to the highest that they end with, in the graph of the
// channel that has the latter, which holds earlier minor versions too.
func (c *choice) across(all []*channel, arch release.Arch, product release.Product) error {
	var target, source *channel
	n := 0
	for _, ch := range all {
		if ch.arch != arch || ch.Product != product {
			continue
		}
		n++
		if target == nil || higher(ch, ch.max, target, target.max) {
			target = ch
		}
		if ch.Range.Min != "" && (source == nil || higher(source, source.min, ch, ch.min)) {
			source = ch
		}
	}
	if n < 2 || source == nil || source == target {
		return nil
	}
	v := source.graph.Nodes[source.min].Version
	i, ok := target.graph.Find(v)
	if !ok {
		c.notes = append(c.notes, fmt.Sprintf("no update from %s of %s to %s is planned for %s, since %s does not have it: mirror a channel between them, or write from: under that which clusters go to",
			v, source.Name, target.graph.Nodes[target.max].Version, arch, target.Name))
		return nil
	}
	return c.lead(target, []int{i}, target.max)
}

func higher(a *channel, i int, b *channel, j int) bool {
	return graph.Compare(a.graph.Nodes[i].Version, b.graph.Nodes[j].Version) > 0
}

// enter finds for each cluster the channel that leads it on: its own, or else that
// with the highest target that has its version.
func (c *choice) enter(all []*channel, clusters []Cluster) error {
	var problems []error
	for _, cl := range clusters {
		v, err := semver.Parse(cl.Version)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: version %q: %w", cl.Where, cl.Version, err))
			continue
		}
		var best *channel
		at, asked := 0, false
		for _, ch := range all {
			if ch.arch != cl.Arch || ch.Product != release.OCP {
				continue
			}
			asked = true
			i, ok := ch.graph.Find(v)
			if ok && (best == nil || higher(ch, ch.max, best, best.max)) {
				best, at = ch, i
			}
		}
		switch {
		case !asked:
			c.notes = append(c.notes, fmt.Sprintf("%s: a cluster with %s for %s is of an architecture that is not mirrored; it will find no updates here", cl.Where, cl.Version, cl.Arch))
		case best == nil:
			problems = append(problems, fmt.Errorf("%s: no channel of the configuration has %s for %s, which the cluster runs", cl.Where, cl.Version, cl.Arch))
		case at > best.max:
			c.notes = append(c.notes, fmt.Sprintf("%s: the cluster runs %s, which is above all that is mirrored of %s", cl.Where, cl.Version, best.Name))
		case !slices.Contains(best.from, at):
			best.from = append(best.from, at)
		}
	}
	return errors.Join(problems...)
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
