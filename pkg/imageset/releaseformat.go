package imageset

import (
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/release"
)

func releasesObject() object[Releases] {
	return object[Releases]{
		fields: []field[Releases]{
			flag("graph", "Mirror the graph data as an image for an update service, with its manifest.",
				func(r *Releases) *bool { return &r.Graph }),
			list("channels", "The channels to mirror releases from.",
				func(r *Releases) *[]ReleaseChannel { return &r.Channels }, func(c *ReleaseChannel) *Position { return &c.Pos }, releaseChannelObject()),
			names("architectures", "The architectures of the payloads; multi is the payload for all architectures. The default is amd64.",
				func(r *Releases) *[]release.Arch { return &r.Architectures }, payloads()),
			list("platforms", "Mirror only these platforms of the multi payload; excludes architectures.",
				func(r *Releases) *[]Platform { return &r.Platforms }, func(p *Platform) *Position { return &p.Pos }, platformObject()),
			text("release", "The release to mirror: a registry reference with tag or digest; excludes channels.",
				func(r *Releases) *string { return &r.Release }, payload()),
			flag("kubeVirtContainer", "Mirror the boot images of KubeVirt too.", func(r *Releases) *bool { return &r.KubeVirtContainer }),
			toolsField(),
			text("updateService", "The address of the update service for ocp channels, as in spec.upstream of a ClusterVersion. The default is the public service.",
				func(r *Releases) *string { return &r.UpdateService }, serviceAddress()),
			text("graphData", "The http or https address or the path of the graph data, a tar.gz file. The default is the public graph data.",
				func(r *Releases) *string { return &r.GraphData }, addressOrPath()),
			names("signatureStores", "The signature stores to use instead of those of the product: http or https addresses, or file://DIR.",
				func(r *Releases) *[]string { return &r.SignatureStores }, signatureStore()),
			names("signatureKeys", "The paths of the public keys to use instead of those of the product.",
				func(r *Releases) *[]string { return &r.SignatureKeys }, filePath()),
		},
		check: checkReleases,
	}
}

func releaseChannelObject() object[ReleaseChannel] {
	return object[ReleaseChannel]{
		fields: []field[ReleaseChannel]{
			must(text("name", "The name of the channel, such as stable-4.20.", func(c *ReleaseChannel) *string { return &c.Name }, releaseChannelName())),
			text("type", "The product: ocp (the default) or okd.", func(c *ReleaseChannel) *release.Product { return &c.Product }, products()),
			text("minVersion", "The lowest release to mirror.", func(c *ReleaseChannel) *string { return &c.Range.Min }, minimum().lateIn()),
			text("maxVersion", "The highest release to mirror.", func(c *ReleaseChannel) *string { return &c.Range.Max }, maximum().lateIn()),
			flag("shortestPath", "Mirror only the update path from one end of the range to the other.",
				func(c *ReleaseChannel) *bool { return &c.ShortestPath }),
			flag("full", "Without a range, mirror every release of the channel instead of its head.", func(c *ReleaseChannel) *bool { return &c.Full }),
			words("from", "The versions that clusters run: the update paths from them to maxVersion or to the head are mirrored; excludes minVersion.",
				func(c *ReleaseChannel) *[]InstalledVersion { return &c.From },
				func(pos Position, s string) InstalledVersion { return InstalledVersion{pos, s} },
				func(v InstalledVersion) string { return v.Version }, version()),
			section("risks", "How the risks of conditional updates affect update paths.",
				func(c *ReleaseChannel) *RiskPolicy { return &c.Risks }, riskObject()),
		},
		former: []field[ReleaseChannel]{former("versions", readVersions)},
		preset: func(c *ReleaseChannel) { c.Product = release.OCP },
		check:  checkReleaseChannel,
	}
}

func riskObject() object[RiskPolicy] {
	const avoid, ignore = "avoid", "ignore"
	policies := oneOf("policy", []string{avoid, ignore}, map[string]string{"accept": ignore})
	return object[RiskPolicy]{
		fields: []field[RiskPolicy]{
			{
				name: "policy",
				read: func(r *reader, n *yaml.Node, path string, into *RiskPolicy) {
					into.Ignore = policies.read(r, n, path) == ignore
				},
				write: func(from *RiskPolicy) []byte {
					if !from.Ignore {
						return nil
					}
					return encodeText(ignore)
				},
				shape: policies.shape("avoid (the default) uses conditional updates only if there is no other path; ignore ignores risks."),
			},
			names("accept", "Names of risks to ignore.", func(p *RiskPolicy) *[]string { return &p.Accept }, name()),
			names("forbid", "Names of risks that no path may have.", func(p *RiskPolicy) *[]string { return &p.Forbid }, name()),
		},
		check: checkRisks,
	}
}
