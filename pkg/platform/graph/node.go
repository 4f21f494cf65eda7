package graph

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// The keys of node metadata that this package or a reader of graphs uses.
const (
	URLKey      = "url"
	ChannelsKey = "io.openshift.upgrades.graph.release.channels" // separated by commas
	ArchKey     = "release.openshift.io/architecture"            // "multi", or absent
	ManifestKey = "io.openshift.upgrades.graph.release.manifestref"
)

// describe sets the fields that repeat metadata.
func (n *Node) describe() {
	n.URL, n.Channels, n.Arch = n.Metadata[URLKey], nil, ""
	for c := range strings.SplitSeq(n.Metadata[ChannelsKey], ",") {
		if c = strings.TrimSpace(c); c != "" {
			n.Channels = append(n.Channels, c)
		}
	}
	if n.Metadata[ArchKey] == string(release.Multi) {
		n.Arch = release.Multi
	}
}
