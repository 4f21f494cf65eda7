package imageset

import "github.com/gantry-mirror/gantry/pkg/release"

// Releases says which platform releases are brought across (mirror.platform):
// those of Channels, or the one that Release names, or, with Graph alone, none.
type Releases struct {
	Pos Position
	// Graph brings an image with the graph data that an update service needs.
	Graph bool
	// Channels are distinct by name and product.
	Channels []ReleaseChannel
	// Architectures are those of the payloads; none means what Arches says. They
	// exclude Platforms, which thin out the multi payload to these.
	Architectures []release.Arch
	Platforms     []Platform
	// Release is the payload to take: a registry reference with tag or digest. It
	// excludes Channels.
	Release string
	// KubeVirtContainer brings the boot images of KubeVirt too.
	KubeVirtContainer bool
	// UpdateService is the http or https address of the graphs of OCP channels,
	// as spec.upstream of a ClusterVersion has it; empty for the public one.
	UpdateService string
	// GraphData is the http or https address or the path of the graph data, a
	// tar.gz; empty for the public one.
	GraphData string
	// SignatureStores are http or https addresses or "file://DIR" to ask for
	// signatures, SignatureKeys the paths of the keys they are verified with, in
	// place of those of the product.
	SignatureStores, SignatureKeys []string
}

// Arches are the architectures of the payloads that are taken of channels.
func (r *Releases) Arches() []release.Arch {
	switch {
	case len(r.Architectures) > 0:
		return r.Architectures
	case len(r.Platforms) > 0:
		return []release.Arch{release.Multi}
	}
	return []release.Arch{release.DefaultArch}
}

// A ReleaseChannel is one channel of a product and the releases taken of it: the
// head; all of them, with Full; those in Range; or those on update paths, with
// ShortestPath or From.
type ReleaseChannel struct {
	Pos     Position
	Name    string
	Product release.Product // OCP where the file does not say
	Range   Range
	// ShortestPath takes of a range only the path from one end to the other; one
	// that is left open is the channel's lowest release, or its head. It excludes
	// Full, and says nothing without a range.
	ShortestPath, Full bool
	// From is what clusters run: their paths to the upper end of the range, or to
	// the head, are taken. It excludes Range.Min and Full.
	From  []InstalledVersion // distinct
	Risks RiskPolicy
}

// An InstalledVersion is a release that clusters run, by its semantic version.
type InstalledVersion struct {
	Pos     Position
	Version string
}

// A RiskPolicy says what the risks of conditional updates count for on a path.
// The zero policy takes such updates only where nothing else leads there.
type RiskPolicy struct {
	// Ignore lets no risk count but the forbidden ones.
	Ignore bool
	// Accept and Forbid are names of risks, each in one of them at most. Accept
	// excludes Ignore.
	Accept, Forbid []string
}
