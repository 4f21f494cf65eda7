package build

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
	"github.com/gantry-mirror/gantry/plan"
)

// A ReleaseSource provides update graphs, graph data and signatures of platform releases.
type ReleaseSource interface {
	// Graph returns the update graph of a channel for one architecture, and its source. It is an
	// error if the channel does not exist.
	Graph(ctx context.Context, product release.Product, channel string, arch release.Arch) (*graph.Graph, plan.UpdateGraph, error)
	// GraphData returns the published graph data, a tar.gz, and its source without credentials.
	GraphData(ctx context.Context) (source string, tarball []byte, err error)
	// Signatures returns the verified signatures of a payload. It is an error if none is valid;
	// the error matches release.ErrUnsigned if there are none.
	Signatures(ctx context.Context, product release.Product, payload digest.Digest) ([][]byte, error)
}

// Values of plan.ReleaseReason.Reason.
const (
	reasonHead    = "head"
	reasonRange   = "range"
	reasonFull    = "full"
	reasonPath    = "path"
	reasonFrom    = "from"
	reasonRelease = "release"
)

// A releaseSelection is what the configuration selects from the channels, before payloads are read.
type releaseSelection struct {
	releases []*chosenRelease
	updates  []plan.UpdatePath
	graphs   []plan.UpdateGraph
	notes    []string
	warnings []string // notes that are printed at once
	problems []error
}

// A chosenRelease is a release that the configuration or an update path selects.
type chosenRelease struct {
	product release.Product
	arch    release.Arch
	version string
	source  string // the payload, by digest
	reasons []plan.ReleaseReason
}

func (c *chosenRelease) name() string { return release.Name(c.version, c.arch) }

// selectReleases selects releases and update paths from the channels.
// young are payloads that are too young, with the days of their creation.
func selectReleases(ctx context.Context, cfg *imageset.Releases, source ReleaseSource, clusters []Cluster, blocked []imageset.Blocked, young map[string]string) (*releaseSelection, error) {
	var all []*channel
	for _, arch := range cfg.Arches() {
		for _, c := range cfg.Channels {
			all = append(all, &channel{ReleaseChannel: c, arch: arch})
		}
	}
	err := each(ctx, len(all), func(ctx context.Context, i int) error { return all[i].read(ctx, source, blocked, young) })
	if err != nil {
		return nil, err
	}
	c := &releaseSelection{}
	if err := c.addClusters(all, clusters); err != nil {
		return nil, err
	}
	c.unknownRisks(all)
	var problems []error
	for i, ch := range all {
		c.graphs = append(c.graphs, ch.source)
		c.notes = append(c.notes, ch.notes()...)
		problems = append(problems, c.addChannel(all, ch))
		first := slices.IndexFunc(all, func(o *channel) bool { return o.arch == ch.arch && o.Product == ch.Product })
		if first == i {
			problems = append(problems, c.connectChannels(all, ch.arch, ch.Product))
		}
	}
	c.sort()
	return c, errors.Join(append(problems, c.problems...)...)
}

// addChannel adds the releases of one of all channels.
func (c *releaseSelection) addChannel(all []*channel, ch *channel) error {
	g := ch.graph
	problem := c.addInstalled(all, ch)
	switch {
	case len(ch.From) > 0:
	case ch.ShortestPath && (ch.Full || !ch.Range.IsZero()):
		paths, err := ch.pathThroughRange(ch.min)
		if err != nil {
			problem = errors.Join(problem, c.addEnds(ch, err))
		}
		c.addPaths(ch, paths, reasonPath)
	case ch.Range.IsZero() && ch.Full:
		for i := range g.Nodes {
			c.add(ch, i, reasonFull)
		}
		c.notes = append(c.notes, fmt.Sprintf("%s is mirrored completely: %s from %s to %s",
			ch, count(len(g.Nodes), "release", "releases"), g.Nodes[0].Version, g.Nodes[len(g.Nodes)-1].Version))
	case ch.Range.IsZero():
		c.add(ch, ch.max, reasonHead)
	default:
		for i := ch.min; i <= ch.max; i++ {
			c.add(ch, i, reasonRange)
		}
		if ch.Range.Min != "" && ch.min < ch.max {
			// All releases of the range are selected anyway, so a missing path is only a note.
			paths, err := ch.pathThroughRange(ch.min)
			if err != nil {
				c.notes = append(c.notes, fmt.Sprintf("%s: %v", ch, err))
			}
			c.addPaths(ch, paths, reasonRange)
		}
	}
	return problem
}

// addEnds adds both ends of a range without an update path between them, with a warning. It is an error
// if only a forbidden risk is in the way.
func (c *releaseSelection) addEnds(ch *channel, missing error) error {
	if len(ch.Risks.Forbid) > 0 {
		free := *ch
		free.Risks.Forbid = nil
		if _, err := free.pathThroughRange(ch.min); err == nil {
			return ch.pathError(missing)
		}
	}
	c.add(ch, ch.min, reasonRange)
	c.add(ch, ch.max, reasonRange)
	c.warn(fmt.Sprintf("%s: %s: only %s and %s are mirrored: %v", ch.Pos, ch, ch.graph.Nodes[ch.min].Version, ch.maxVersion(), missing))
	return nil
}

// pathError adds the channel and its position to the error of a missing path.
func (ch *channel) pathError(err error) error {
	if err == nil {
		return nil
	}
	return inputErrorf("%s: %s: %w", ch.Pos, ch, err)
}

// addPaths adds update paths and the releases on them.
//
// first is the reason for the first release of a path. Of two paths with the same ends, the one
// that was added first stays: it belongs to clusters or to the field from.
func (c *releaseSelection) addPaths(ch *channel, paths []path.Path, first string) {
	for _, p := range paths {
		u := UpdatePath(ch.Product, ch.arch, ch.Name, p)
		if slices.ContainsFunc(c.updates, func(o plan.UpdatePath) bool {
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

// risks returns the risks of a hop, as the plan lists them.
func risks(h path.Hop) []plan.Risk {
	var out []plan.Risk
	for _, r := range h.Risks {
		risk := plan.Risk{Name: r.Name, Message: r.Message, URL: r.URL, Rules: []plan.RiskRule{}, Accepted: r.Accepted}
		for _, rule := range r.Rules {
			risk.Rules = append(risk.Rules, plan.RiskRule{Type: rule.Type, PromQL: rule.PromQL})
		}
		out = append(out, risk)
	}
	return out
}

// add adds a release. Several channels may have it, with the same payload.
func (c *releaseSelection) add(ch *channel, node int, reason string) {
	n := ch.graph.Nodes[node]
	name := release.Name(n.Version.String(), ch.arch)
	why := plan.ReleaseReason{Reason: reason, Channel: ch.Name}
	i := slices.IndexFunc(c.releases, func(r *chosenRelease) bool { return r.name() == name })
	if i < 0 {
		c.releases = append(c.releases, &chosenRelease{
			product: ch.Product, arch: ch.arch, version: n.Version.String(), source: n.Payload, reasons: []plan.ReleaseReason{why},
		})
		return
	}
	r := c.releases[i]
	if r.source != n.Payload || r.product != ch.Product {
		c.problems = append(c.problems, fmt.Errorf("%s: release %s is %s in channel %s and %s in channel %s: a mirror can contain only one of them; remove one of the channels",
			ch.Pos, name, r.source, r.reasons[0].Channel, n.Payload, ch.Name))
		return
	}
	if !slices.Contains(r.reasons, why) {
		r.reasons = append(r.reasons, why)
	}
}

func higher(a *channel, i int, b *channel, j int) bool {
	return graph.Compare(a.graph.Nodes[i].Version, b.graph.Nodes[j].Version) > 0
}

// sort sorts everything as in a plan.
func (c *releaseSelection) sort() {
	slices.SortFunc(c.releases, func(a, b *chosenRelease) int { return strings.Compare(a.name(), b.name()) })
	for _, r := range c.releases {
		slices.SortFunc(r.reasons, func(a, b plan.ReleaseReason) int {
			return cmp.Or(strings.Compare(a.Channel, b.Channel), strings.Compare(a.Reason, b.Reason))
		})
	}
	slices.SortFunc(c.graphs, func(a, b plan.UpdateGraph) int { return strings.Compare(a.URL, b.URL) })
	c.graphs = slices.Compact(c.graphs) // channels of OKD may share one
	slices.SortFunc(c.updates, func(a, b plan.UpdatePath) int {
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
