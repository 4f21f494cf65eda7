// Package graphdata reads the data that an update service (Cincinnati) needs besides the releases
// themselves: which channels have a release, which updates are blocked, and which are recommended
// only if a risk does not apply.
//
// [Read] reads it as a tar.gz, from api.openshift.com or an archive of the repository
// cincinnati-graph-data; [ReadImage] reads it from an image that the update service operator runs.
// [Data.Graph] combines it with the previous versions that release images name, and returns the
// graph that an update service at the site will serve. [Build] makes the image.
//
// Only the files that servers use are read: LICENSE, version, channels/*.yaml, blocked-edges/*.yaml
// and raw/metadata.json. Sizes and numbers of files are limited, and an error names every invalid
// file.
package graphdata

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// Data is graph data. It is immutable and may be used concurrently.
type Data struct {
	// Version is the version of the format, "1.1.0".
	Version string
	// Digest is the digest of the tar.gz; "" if the data was read from an image.
	Digest digest.Digest

	files map[string][]byte // the files that servers read, by path
	names []string          // of channels, in the order of Channels
	// memberships are sorted by channel, blocks by file name.
	memberships map[string][]membership // by version without build metadata
	blocks      map[string][]block      // by target without build metadata
	metadata    map[string]map[string]string
	risks       []graph.Risk
}

// A membership is a release in a channel.
type membership struct {
	arch    string // "" for every architecture
	channel string
}

// A block is a file of blocked-edges: it removes updates, for all clusters or, with a risk, for
// those to which it applies.
type block struct {
	arch string // of the target, "" for every architecture
	from *regexp.Regexp
	risk int // in Data.risks, -1 for none
}

// Channels returns the names of the channels that have a release, in the order of update services:
// by the text after the first dash, then by name. Some old releases are in a channel for one
// architecture only.
func (d *Data) Channels(v semver.Version, arch release.Arch) []string {
	var out []string
	for _, m := range d.memberships[bare(v)] {
		if m.arch == "" || m.arch == string(arch) {
			out = append(out, m.channel)
		}
	}
	return out
}

// compareChannels is the order of update services, which compare text and not numbers.
func compareChannels(a, b string) int {
	_, x, _ := strings.Cut(a, "-")
	_, y, _ := strings.Cut(b, "-")
	return cmp.Or(strings.Compare(x, y), strings.Compare(a, b))
}

// bare returns a version without build metadata, which is an architecture here.
func bare(v semver.Version) string {
	v.Build = nil
	return v.String()
}

// paths returns the paths of the files, sorted.
func (d *Data) paths() []string { return slices.Sorted(maps.Keys(d.files)) }
