package deletion

import (
	"cmp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// releases removes the releases and the graph that the configuration does not select. A release on an update path may be
// outside of the range of its own channel; it is selected if the ranges of all channels include it. What clusters run, and
// their paths, may be below all ranges.
func (r *remainder) releases() {
	want := cmp.Or(r.mirror.Platform, &imageset.Releases{})
	all := wholeRange(want.Channels)
	runs := func(why plan.ReleaseReason) bool { return why.Reason == "from" }
	if slices.ContainsFunc(r.plan.Releases, func(rel plan.Release) bool { return slices.ContainsFunc(rel.Reasons, runs) }) {
		all.Min = ""
	}
	found := make([]bool, len(want.Channels))
	payload := false
	for i := range r.plan.Releases {
		rel := &r.plan.Releases[i]
		kept := want.Release != "" && (isPayload(rel, want.Release) || isRequested(rel, want.Release))
		payload = payload || kept
		for j := range want.Channels {
			c := &want.Channels[j]
			selects := slices.ContainsFunc(rel.Reasons, func(why plan.ReleaseReason) bool {
				return why.Channel == c.Name && (runs(why) || within(c.Range, rel.Version) || why.Reason == "path" && within(all, rel.Version))
			})
			if selects && c.Product == rel.Product && slices.Contains(want.Arches(), rel.Arch) {
				kept, found[j] = true, true
			}
		}
		if !kept {
			r.remove(r.drop.Releases, rel.Name())
		}
	}
	if r.plan.GraphData != nil && !want.Graph {
		r.drop.Graph, r.drops = true, true
	}
	if r.isMissing(func(m *plan.Missing) bool { return m.Kind == plan.ReleaseImage || m.Kind == plan.GraphImage }) {
		return
	}
	for j := range want.Channels {
		if c := &want.Channels[j]; !found[j] && want.Release == "" {
			r.lack(c.Pos, "releases of these versions from the channel %s", c.Name)
		}
	}
	if want.Release != "" && !payload {
		r.lack(want.Pos, "the release %s", want.Release)
	}
	if want.Graph && r.plan.GraphData == nil && len(r.mirror.BlockedImages) == 0 { // they may block its base image
		r.lack(want.Pos, "the update graph")
	}
}

// isRequested reports whether a release was selected by a tag that is not VERSION-ARCH, in the repository of a reference with
// such a tag: the plan has only the name of the release.
func isRequested(r *plan.Release, name string) bool {
	ref, err := reference.Parse(name)
	source, sourceErr := reference.Parse(r.Source)
	isName := strings.HasSuffix(ref.Tag, strings.TrimPrefix(r.Tag, r.Version))
	return err == nil && sourceErr == nil && ref.Digest == "" && !isName && source.Name() == ref.Name() &&
		slices.ContainsFunc(r.Reasons, func(why plan.ReleaseReason) bool { return why.Reason == "release" })
}

// wholeRange returns the range from the lowest to the highest version of channels.
func wholeRange(channels []imageset.ReleaseChannel) imageset.Range {
	if len(channels) == 0 {
		return imageset.Range{}
	}
	all := channels[0].Range
	for _, c := range channels[1:] {
		all.Min = outermost(all.Min, c.Range.Min, semver.Version.LT)
		all.Max = outermost(all.Max, c.Range.Max, semver.Version.GT)
	}
	return all
}

// outermost returns the version that is further out, "" if one of them is open.
func outermost(a, b string, further func(semver.Version, semver.Version) bool) string {
	x, err := semver.Parse(a)
	if err != nil {
		return ""
	}
	y, err := semver.Parse(b)
	switch {
	case err != nil:
		return ""
	case further(y, x):
		return b
	}
	return a
}
