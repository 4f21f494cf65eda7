package imageset

import (
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// What may be combined in mirror.platform: channels and a release name payloads
// in two ways, architectures and platforms choose among them in two ways; a range,
// `full` and `from` say three different things about a channel. What oc mirror
// lets pass without a contradiction passes: `full` beside a range, which takes
// every release in it anyway, and shortestPath without a range.

func checkReleases(r *reader, path string, v *Releases) {
	checkPlatforms(r, path, v.Platforms)
	distinct(r, join(path, "channels"), v.Channels, "merge the two entries", func(c *ReleaseChannel) (string, Position) {
		switch {
		case c.Name == "" || c.Product == "":
			return "", c.Pos
		case c.Product == release.OCP:
			return c.Name, c.Pos
		}
		return fmt.Sprintf("%s of %s", c.Name, c.Product), c.Pos // products share names
	})
	if len(v.Architectures) > 0 && len(v.Platforms) > 0 {
		r.fault(join(path, "architectures"), "architectures cannot be combined with platforms, which thin out the multi payload",
			"take out one of the two")
	}
	if v.Release != "" && len(v.Channels) > 0 {
		r.fault(join(path, "release"), "a release cannot be combined with channels, whose place it takes", "take out one of the two")
	}
	isOCP := func(c ReleaseChannel) bool { return c.Product == release.OCP }
	if v.UpdateService != "" && !slices.ContainsFunc(v.Channels, isOCP) && len(r.problems) == 0 {
		r.fault(join(path, "updateService"), "there is no ocp channel to ask it for", "take it out, or add channels")
	}
}

// takesNothing reports whether v names no content, whatever else it says.
func (r *Releases) takesNothing() bool { return !r.Graph && len(r.Channels) == 0 && r.Release == "" }

func checkReleaseChannel(r *reader, path string, c *ReleaseChannel) {
	checkRange(r, path, c.Range)
	if c.Full && c.ShortestPath {
		r.fault(join(path, "shortestPath"), "shortestPath cannot be combined with full: true, which takes every release", "take out one of the two")
	}
	if len(c.From) == 0 {
		return
	}
	at := join(path, "from")
	if c.Range.Min != "" {
		r.fault(at, "from cannot be combined with minVersion: what is taken begins with what clusters run", "take minVersion out")
	}
	if c.Full {
		r.fault(at, "from cannot be combined with full: true, which takes every release", "take out one of the two")
	}
	highest, err := semver.Parse(c.Range.Max)
	if err != nil {
		return
	}
	for i, in := range c.From {
		if v, err := semver.Parse(in.Version); err == nil && v.GT(highest) {
			r.fault(fmt.Sprintf("%s[%d]", at, i), fmt.Sprintf("%s is above maxVersion %s: no update leads there", in.Version, c.Range.Max),
				"take it out, or raise maxVersion")
		}
	}
}

func checkRisks(r *reader, path string, p *RiskPolicy) {
	if p.Ignore && len(p.Accept) > 0 {
		r.fault(join(path, "accept"), "accept cannot be combined with policy: ignore, which accepts every risk", "take out one of the two")
	}
	accepted := map[string]bool{}
	for _, name := range p.Accept {
		accepted[name] = true
	}
	for i, name := range p.Forbid {
		if accepted[name] {
			r.fault(fmt.Sprintf("%s[%d]", join(path, "forbid"), i), quote(name)+" is accepted as well", "take it out of one of the two lists")
		}
	}
}
