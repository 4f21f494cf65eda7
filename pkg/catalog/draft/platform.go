package draft

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// platform makes mirror.platform from the releases that clusters run.
func (d *drafter) platform() {
	if len(d.cluster.Versions) == 0 {
		return
	}
	p := &imageset.Releases{}
	byChannel := map[string][]installed.ClusterVersion{}
	for _, v := range d.cluster.Versions {
		channel := v.Channel
		if channel == "" {
			channel = "stable-" + release.Minor(v.Version)
			d.note("%s follows no channel; %s is used", v.Origin, channel)
		}
		byChannel[channel] = append(byChannel[channel], v)
		if v.Multi && !slices.Contains(p.Architectures, release.Multi) {
			p.Architectures = append(p.Architectures, release.Multi)
		}
		if v.UpdateService != "" && !p.Graph {
			p.Graph = true
			d.draft.Comments["mirror.platform.graph"] = "The cluster uses an update service: " + v.UpdateService
		}
	}
	if len(p.Architectures) > 0 && slices.ContainsFunc(d.cluster.Versions, func(v installed.ClusterVersion) bool { return !v.Multi }) {
		p.Architectures = append(p.Architectures, release.DefaultArch)
	}
	for _, name := range slices.Sorted(maps.Keys(byChannel)) {
		at := fmt.Sprintf("mirror.platform.channels[%d]", len(p.Channels))
		c, comment := d.channelOf(name, byChannel[name])
		d.draft.Comments[at] = comment
		p.Channels = append(p.Channels, c)
	}
	d.draft.Config.Mirror.Platform = p
}

// channelOf selects the releases that clusters run, or their update paths to the head of the channel.
func (d *drafter) channelOf(name string, clusters []installed.ClusterVersion) (c imageset.ReleaseChannel, comment string) {
	c = imageset.ReleaseChannel{Name: name} // ocp is the default
	var versions, lines []string
	for _, v := range clusters {
		lines = append(lines, "Running: "+v.Version)
		if !slices.Contains(versions, v.Version) {
			versions = append(versions, v.Version)
			c.Range = Widen(c.Range, v.Version)
		}
		if strings.Contains(v.Version, "okd") {
			c.Product = release.OKD
		}
	}
	elements.Sort(versions, compareVersions)
	slices.Sort(lines)
	switch {
	case len(versions) > 1:
		c.Range.Min = ""
		if !d.Pinned {
			c.Range.Max = ""
		}
		for _, v := range versions {
			c.From = append(c.From, imageset.InstalledVersion{Version: v})
		}
	case !d.Pinned:
		c.Range.Max = ""
		c.ShortestPath = true
	}
	return c, strings.Join(slices.Compact(lines), "\n")
}
