// Package proof shows whether updates are possible with what a mirror has.
//
// It makes the graph that an update service at the site would answer: of the
// release images that have a tag in the mirror, and of the graph data there, and
// of nothing else. Prove looks for planned updates in it and says of each what is
// in its way. Where the mirror has no graph data, no service can answer, and no
// more can be said than what the releases tell of each other.
//
// A cluster takes a release that it is offered where the keys which the release that
// it runs brings have signed it (Keys), and where the mirror has all images that the
// release names. A Check asks all of that, of a plan or of any two versions, and its
// Report says what is possible, and what is missing where.
package proof

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
	"github.com/gantry-mirror/gantry/pkg/release/graphdata"
)

// A Mirror is what a mirror has of releases.
type Mirror struct {
	Releases []Release
	// Data is the graph data; nil where there is none.
	Data *graphdata.Data
}

// An Update is what is to be proven: hops that clusters of one architecture
// take while they follow a channel, From and To being the ends.
type Update struct {
	Channel  string
	Arch     release.Arch
	From, To string
	Hops     []Hop
}

// A Hop leads from one version to another. Risks are the names of those that are
// known to be on it.
type Hop struct {
	From, To string
	Risks    []string
}

// A Verdict is what was found of a hop.
type Verdict struct {
	Hop
	// Found are the names of the risks that clusters will be told of.
	Found []string
	// Problem says why clusters are not offered the hop, or one that is not what was
	// planned, and Hint what to do about it; both are "" where all is well.
	Problem, Hint string
}

// What to do about problems.
const (
	bringIt   = "mirror again to bring it"
	planAgain = "make the plan again, and mirror"
)

// Graph is the answer of an update service at the site. payload, where it is not
// nil, gives the name by which clusters know a release image. There has to be
// graph data.
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

// Prove looks for the hops of an update in the graph of its channel, and returns a
// verdict for each.
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
		case m.absent(v, u.Arch):
		case err != nil:
			v.Problem, v.Hint = err.Error(), planAgain
		case g == nil:
			m.named(v, u.Arch)
		default:
			m.offered(v, g, u)
		}
	}
	return verdicts
}

// absent reports whether one of the releases of a hop is not there.
func (m *Mirror) absent(v *Verdict, arch release.Arch) bool {
	var reasons []string
	for _, version := range []string{v.From, v.To} {
		if m.Find(version, arch) != nil {
			continue
		}
		name := release.Name(version, arch)
		reason := "no tag names release " + name
		if i := slices.IndexFunc(m.Releases, func(r Release) bool { return r.Err != nil && r.Tag == name }); i >= 0 {
			reason = m.Releases[i].Err.Error()
		}
		reasons = append(reasons, reason)
	}
	if len(reasons) == 0 {
		return false
	}
	v.Problem = strings.Join(reasons, "; ")
	v.Hint = bringIt
	return true
}

// Find is the release of a version; nil where it is not there.
func (m *Mirror) Find(version string, arch release.Arch) *Release {
	i := slices.IndexFunc(m.Releases, func(r Release) bool { return r.Err == nil && r.Version == version && r.Arch == arch })
	if i < 0 {
		return nil
	}
	return &m.Releases[i]
}

// offered judges a hop by the graph.
func (m *Mirror) offered(v *Verdict, g *graph.Graph, u Update) {
	var at [2]int
	for i, version := range []string{v.From, v.To} {
		parsed, err := semver.Parse(version)
		node, ok := g.Find(parsed)
		if err != nil || !ok {
			v.Problem = fmt.Sprintf("the graph data of the mirror does not have %s in channel %s", version, u.Channel)
			v.Hint = planAgain
			return
		}
		at[i] = node
	}
	edges := g.From(at[0])
	i := slices.IndexFunc(edges, func(e graph.Edge) bool { return int(e.To) == at[1] })
	if i < 0 {
		v.Problem = fmt.Sprintf("the graph data of the mirror blocks the update from %s to %s", v.From, v.To)
		if !m.tells(v, u.Arch) {
			v.Problem = untold(v)
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
		v.Problem = fmt.Sprintf("the update from %s to %s is conditional in the graph data of the mirror, and was planned without the risk %s", v.From, v.To, strings.Join(more, ", "))
		v.Hint = planAgain
	}
}

// named judges a hop by what its releases say.
func (m *Mirror) named(v *Verdict, arch release.Arch) {
	if !m.tells(v, arch) {
		v.Problem, v.Hint = untold(v), planAgain
	}
}

func untold(v *Verdict) string {
	return fmt.Sprintf("neither release tells of an update from %s to %s", v.From, v.To)
}

// tells reports whether a release of a hop that is there tells of it.
func (m *Mirror) tells(v *Verdict, arch release.Arch) bool {
	return slices.Contains(m.Find(v.To, arch).Previous, v.From) || slices.Contains(m.Find(v.From, arch).Next, v.To)
}
