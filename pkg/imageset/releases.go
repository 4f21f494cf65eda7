package imageset

import "github.com/gantry-mirror/gantry/pkg/release"

// Releases are the platform releases to mirror (mirror.platform): the releases of Channels or the
// one in Release. With only Graph, it selects no releases.
type Releases struct {
	Pos Position
	// Graph mirrors an image with the graph data that an update service needs.
	Graph bool
	// Channels are distinct by name and product.
	Channels []ReleaseChannel
	// Architectures are the architectures of the payloads; see Arches for the default. They exclude
	// Platforms, which limit the multi payload.
	Architectures []release.Arch
	Platforms     []Platform
	// Release is the payload to mirror: a registry reference with tag or digest. It excludes
	// Channels.
	Release string
	// KubeVirtContainer mirrors the boot images of KubeVirt too.
	KubeVirtContainer bool
	// Tools, if set, provides tools of the releases.
	Tools *Tools
	// UpdateService is the http or https address of the graphs of OCP channels, as in spec.upstream
	// of a ClusterVersion; empty for the public one.
	UpdateService string
	// GraphData is the http or https address or the path of the graph data, a
	// tar.gz; empty for the public one.
	GraphData string
	// SignatureStores are the http or https addresses or "file://DIR" with signatures.
	// SignatureKeys are the paths of the keys that verify them. They replace those of the product.
	SignatureStores, SignatureKeys []string
}

// Arches returns the architectures of the payloads that are selected from channels.
func (r *Releases) Arches() []release.Arch {
	switch {
	case len(r.Architectures) > 0:
		return r.Architectures
	case len(r.Platforms) > 0:
		return []release.Arch{release.Multi}
	}
	return []release.Arch{release.DefaultArch}
}

// A ReleaseChannel selects releases of one channel of a product: by default its head; with Full,
// all; with Range, those in the range; with ShortestPath or From, those on update paths.
type ReleaseChannel struct {
	Pos     Position
	Name    string
	Product release.Product // OCP by default
	Range   Range
	// ShortestPath selects only the update path from one end of the range to the other. An open end
	// is the channel's lowest release or its head. It excludes Full, and has no effect without a
	// range.
	ShortestPath, Full bool
	// From are the versions that clusters run. Their update paths to the upper end of the range, or
	// to the head, are selected. It excludes Range.Min and Full.
	From  []InstalledVersion // distinct
	Risks RiskPolicy
}

// An InstalledVersion is a release that clusters run, by its semantic version.
type InstalledVersion struct {
	Pos     Position
	Version string
}

// A RiskPolicy defines how risks of conditional updates count on an update path. The zero policy
// uses such updates only if there is no other path.
type RiskPolicy struct {
	// Ignore ignores all risks except forbidden ones.
	Ignore bool
	// Accept and Forbid are names of risks; no risk is in both. Accept excludes Ignore.
	Accept, Forbid []string
}
