// Package proof checks that updates of the platform are possible with what a mirror has.
//
// It reads the release images that have a tag in the mirror and the mirror's graph data, and
// nothing else. From both it builds the update graph that an update service at the disconnected
// site would serve. Prove looks up planned updates in that graph and returns what blocks each hop.
// A mirror without graph data cannot feed an update service; its hops are checked against the
// updates that the releases themselves declare.
//
// A cluster accepts a release that it is offered if the keys of the release that it runs (Keys)
// signed it, and it can install the release if the mirror has all its images. A Check examines all
// of that, for a plan or for any two versions. Its Report lists the hops that are possible and what
// is missing for the others.
package proof

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/graphdata"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Mirror is what a mirror has of releases.
type Mirror struct {
	Releases []Release
	// Data is the graph data. It is nil if the mirror has none.
	Data *graphdata.Data
}

// An Update is a path to check: the hops from From to To that clusters of one architecture take
// while they follow a channel.
type Update struct {
	Channel  string
	Arch     release.Arch
	From, To string
	Hops     []Hop
}

// A Hop leads from one version to another. Risks are the names of its known risks.
type Hop struct {
	From, To string
	Risks    []string
}

// A Verdict is the result for one hop.
type Verdict struct {
	Hop
	// Found are the names of the risks of the hop in the mirror's graph data.
	Found []string
	// Problem is why clusters are not offered the hop as it was planned, and Hint what to do about
	// it. Both are empty if the hop is offered.
	Problem, Hint string
}

// Hints of problems.
const (
	mirrorAgain = "mirror again"
	copyBlobs   = "mirror again with Options.CheckBlobs or Options.ReadBlobs"
	planAgain   = "make a new plan and mirror it"
)

// Graph returns the update graph that an update service at the site serves. payload returns the
// name by which clusters know a release image; the default is its reference in the mirror. m.Data
// must not be nil.
func (m *Mirror) Graph(channel string, arch release.Arch, payload func(Release) string) (*graph.Graph, error) {
	var all []graphdata.Release
	for _, r := range m.Releases {
		if r.Err != nil {
			continue
		}
		name := r.Ref
		if payload != nil {
			name = payload(r)
		}
		all = append(all, graphdata.Release{
			Version: r.Version, Arch: r.Arch, Payload: name, Previous: r.Previous, Next: r.Next, Metadata: r.Metadata,
		})
	}
	return m.Data.Graph(all, channel, arch)
}

// Prove looks up the hops of an update in the graph of its channel, and returns a verdict for each.
func (m *Mirror) Prove(u Update) []Verdict {
	var g *graph.Graph
	var err error
	if m.Data != nil {
		g, err = m.Graph(u.Channel, u.Arch, nil)
	}
	verdicts := make([]Verdict, len(u.Hops))
	for i, h := range u.Hops {
		v := &verdicts[i]
		v.Hop = h
		switch {
		case m.missing(v, u.Arch):
		case err != nil:
			v.Problem, v.Hint = err.Error(), planAgain
		case g == nil:
			m.checkDeclared(v, u.Arch)
		default:
			m.checkGraph(v, g, u)
		}
	}
	return verdicts
}

// missing reports whether the mirror lacks one of the releases of a hop.
func (m *Mirror) missing(v *Verdict, arch release.Arch) bool {
	var reasons []string
	for _, version := range []string{v.From, v.To} {
		if m.Find(version, arch) != nil {
			continue
		}
		name := release.Name(version, arch)
		reason := "the mirror has no tag " + name
		if i := slices.IndexFunc(m.Releases, func(r Release) bool { return r.Err != nil && r.Tag == name }); i >= 0 {
			reason = m.Releases[i].Err.Error()
		}
		reasons = append(reasons, reason)
	}
	if len(reasons) == 0 {
		return false
	}
	v.Problem = strings.Join(reasons, "; ")
	v.Hint = mirrorAgain
	return true
}

// Find returns the release of a version and architecture, or nil if the mirror does not have it.
func (m *Mirror) Find(version string, arch release.Arch) *Release {
	i := slices.IndexFunc(m.Releases, func(r Release) bool { return r.Err == nil && r.Version == version && r.Arch == arch })
	if i < 0 {
		return nil
	}
	return &m.Releases[i]
}

// checkGraph compares a hop with the graph.
func (m *Mirror) checkGraph(v *Verdict, g *graph.Graph, u Update) {
	var at [2]int
	for i, version := range []string{v.From, v.To} {
		parsed, err := semver.Parse(version)
		node, ok := g.Find(parsed)
		if err != nil || !ok {
			v.Problem = fmt.Sprintf("the mirror's graph data does not have %s in channel %s", version, u.Channel)
			v.Hint = planAgain
			return
		}
		at[i] = node
	}
	edges := g.From(at[0])
	i := slices.IndexFunc(edges, func(e graph.Edge) bool { return int(e.To) == at[1] })
	if i < 0 {
		v.Problem = fmt.Sprintf("the mirror's graph data blocks the update from %s to %s", v.From, v.To)
		if !m.declares(v, u.Arch) {
			v.Problem = undeclared(v)
		}
		v.Hint = planAgain
		return
	}
	var more []string
	for _, r := range g.Risks(edges[i]) {
		v.Found = append(v.Found, r.Name)
		if !slices.Contains(v.Risks, r.Name) {
			more = append(more, r.Name)
		}
	}
	if len(more) > 0 {
		v.Problem = fmt.Sprintf("the update from %s to %s has a risk in the mirror's graph data that the plan does not list: %s", v.From, v.To, strings.Join(more, ", "))
		v.Hint = planAgain
	}
}

// checkDeclared compares a hop with the updates that its releases declare.
func (m *Mirror) checkDeclared(v *Verdict, arch release.Arch) {
	if !m.declares(v, arch) {
		v.Problem, v.Hint = undeclared(v), planAgain
	}
}

func undeclared(v *Verdict) string {
	return fmt.Sprintf("neither release declares an update from %s to %s", v.From, v.To)
}

// declares reports whether one of the two releases of a hop declares the update.
func (m *Mirror) declares(v *Verdict, arch release.Arch) bool {
	return slices.Contains(m.Find(v.To, arch).Previous, v.From) || slices.Contains(m.Find(v.From, arch).Next, v.To)
}
