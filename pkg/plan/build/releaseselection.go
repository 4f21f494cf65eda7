package build

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/release"
)

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
