package imageset

import (
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// These checks reject contradictions in mirror.platform. Architectures and platforms select payloads in
// two ways. A range, `full` and `from` select releases of a channel in three ways. What oc mirror
// reads with one meaning is read like that: a release takes precedence over channels, a range over
// `full`. shortestPath has no effect without a range or `full`.

func checkReleases(r *reader, path string, v *Releases) {
	v.Platforms = checkPlatforms(r, path, v.Platforms)
	v.Channels = distinct(r, join(path, "channels"), v.Channels, releaseChannelObject, "merge the two entries", func(c *ReleaseChannel) (string, Position) {
		switch {
		case c.Name == "" || c.Product == "":
			return "", c.Pos
		case c.Product == release.OCP:
			return c.Name, c.Pos
		}
		return fmt.Sprintf("%s of %s", c.Name, c.Product), c.Pos // products share names
	})
	if len(v.Architectures) > 0 && len(v.Platforms) > 0 {
		r.fault(join(path, "architectures"), "architectures cannot be combined with platforms, which filter the multi payload",
			"remove one of the two")
	}
	if _, err := semver.Parse(v.Release); err != nil {
		checkIdentifier(r, join(path, "release"), v.Release)
	}
	if v.Release != "" && len(v.Channels) > 0 {
		r.warn(join(path, "channels"), "has no effect: release is the only release that is mirrored", r.drop(join(path, "channels")))
		v.Channels = nil
	}
	isOCP := func(c ReleaseChannel) bool { return c.Product == release.OCP }
	if v.UpdateService != "" && !slices.ContainsFunc(v.Channels, isOCP) && len(r.problems) == 0 {
		r.fault(join(path, "updateService"), "the update service is used only for ocp channels, and none is listed", "remove it, or add channels")
	}
}

// selectsNothing reports whether v selects no content.
func (r *Releases) selectsNothing() bool { return !r.Graph && len(r.Channels) == 0 && r.Release == "" }

func checkReleaseChannel(r *reader, path string, c *ReleaseChannel) {
	checkRange(r, path, c.Range)
	if c.Full && !c.Range.IsZero() && len(c.From) == 0 {
		r.warn(join(path, "full"), "has no effect: the range of versions is used", r.drop(join(path, "full")))
		c.Full = false
	}
	if len(c.From) == 0 {
		return
	}
	at := join(path, "from")
	if c.Range.Min != "" {
		r.fault(at, "from cannot be combined with minVersion: the update paths begin at the versions in from", "remove minVersion")
	}
	if c.Full {
		r.fault(at, "from cannot be combined with full: true, which selects every release", "remove one of the two")
	}
	highest, err := semver.Parse(c.Range.Max)
	if err != nil {
		return
	}
	for i, in := range c.From {
		if v, err := semver.Parse(in.Version); err == nil && v.GT(highest) {
			r.fault(fmt.Sprintf("%s[%d]", at, i), fmt.Sprintf("%s is above maxVersion %s, so no update path leads there", in.Version, c.Range.Max),
				"remove it, or raise maxVersion")
		}
	}
}

func checkRisks(r *reader, path string, p *RiskPolicy) {
	if p.Ignore && len(p.Accept) > 0 {
		r.fault(join(path, "accept"), "accept cannot be combined with policy: ignore, which accepts every risk", "remove one of the two")
	}
	accepted := map[string]bool{}
	for _, name := range p.Accept {
		accepted[name] = true
	}
	for i, name := range p.Forbid {
		if accepted[name] {
			r.fault(fmt.Sprintf("%s[%d]", join(path, "forbid"), i), quote(name)+" is also in accept", "remove it from one of the two lists")
		}
	}
}
