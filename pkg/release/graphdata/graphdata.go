// Package graphdata holds what update services (Cincinnati) know beside the
// releases themselves: which channels have a release, which updates are blocked,
// and which are recommended only where a risk does not apply.
//
// It comes as a tar.gz, that of api.openshift.com or an archive of the repository
// cincinnati-graph-data, or in an image that the update service operator runs
// (ReadImage). Data.Graph makes of it, and of what release images say of their
// predecessors, the graph that a service at the site will answer; Build makes the
// image. Everything that servers ignore is ignored here: LICENSE, version,
// channels/*.yaml, blocked-edges/*.yaml and raw/metadata.json are read.
package graphdata

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
)

// Data is graph data. Nothing changes it; it may be used concurrently.
type Data struct {
	// Version is that of the format, "1.1.0".
	Version string
	// Digest is that of the tar.gz; "" where the data comes out of an image.
	Digest digest.Digest

	files map[string][]byte // what servers read, by path
	names []string          // of channels, in the order of Channels
	// memberships and blocks are sorted by name of the channel and of the file.
	memberships map[string][]membership // by version without build metadata
	blocks      map[string][]block      // by target without build metadata
	metadata    map[string]map[string]string
	risks       []graph.Risk
}

// A membership says that a channel has a release.
type membership struct {
	arch    string // "" for every architecture
	channel string
}

// A block is a file of blocked-edges: it takes updates away, for all or, with a
// risk, for those to whom it applies.
type block struct {
	arch string // of the target, "" for every architecture
	from *regexp.Regexp
	risk int // in Data.risks, -1 for none
}

// Channels are the names of the channels that have a release, in the order that
// services give them: by what is behind the first dash, then by name. Some old
// releases are in a channel for one architecture only.
func (d *Data) Channels(v semver.Version, arch release.Arch) []string {
	var out []string
	for _, m := range d.memberships[bare(v)] {
		if m.arch == "" || m.arch == string(arch) {
			out = append(out, m.channel)
		}
	}
	return out
}

// compareChannels is the order of services, which compare text and not numbers.
func compareChannels(a, b string) int {
	_, x, _ := strings.Cut(a, "-")
	_, y, _ := strings.Cut(b, "-")
	return cmp.Or(strings.Compare(x, y), strings.Compare(a, b))
}

// bare is a version without build metadata, which here is an architecture.
func bare(v semver.Version) string {
	v.Build = nil
	return v.String()
}

// paths are the paths of the files, sorted.
func (d *Data) paths() []string { return slices.Sorted(maps.Keys(d.files)) }
