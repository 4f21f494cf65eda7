package imageset

import (
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/release"
)

func releasesObject() object[Releases] {
	return object[Releases]{
		fields: []field[Releases]{
			flag("graph", "Bring the graph data as an image for an update service, with its manifest.",
				func(r *Releases) *bool { return &r.Graph }),
			list("channels", "The channels that releases are taken of.",
				func(r *Releases) *[]ReleaseChannel { return &r.Channels }, func(c *ReleaseChannel) *Position { return &c.Pos }, releaseChannelObject()),
			names("architectures", "The architectures of the payloads, multi for the one that holds all; without it, amd64.",
				func(r *Releases) *[]release.Arch { return &r.Architectures }, payloads()),
			list("platforms", "Take the multi payload and thin it out to these; excludes architectures.",
				func(r *Releases) *[]Platform { return &r.Platforms }, func(p *Platform) *Position { return &p.Pos }, platformObject()),
			text("release", "The one release to take: a registry reference with tag or digest; excludes channels.",
				func(r *Releases) *string { return &r.Release }, payload()),
			flag("kubeVirtContainer", "Bring the boot images of KubeVirt too.", func(r *Releases) *bool { return &r.KubeVirtContainer }),
			text("updateService", "The update service to ask for the graphs of ocp channels, as spec.upstream of a ClusterVersion has it; without it, the public one.",
				func(r *Releases) *string { return &r.UpdateService }, serviceAddress()),
			text("graphData", "The graph data: the http or https address or the path of a tar.gz; without it, the public one.",
				func(r *Releases) *string { return &r.GraphData }, addressOrPath()),
			names("signatureStores", "Where to look for signatures, in place of the product's stores: http or https addresses, or file://DIR.",
				func(r *Releases) *[]string { return &r.SignatureStores }, signatureStore()),
			names("signatureKeys", "The paths of the public keys to verify with, in place of the product's.",
				func(r *Releases) *[]string { return &r.SignatureKeys }, filePath()),
		},
		check: checkReleases,
	}
}

func releaseChannelObject() object[ReleaseChannel] {
	return object[ReleaseChannel]{
		fields: []field[ReleaseChannel]{
			must(text("name", "The name of the channel, such as stable-4.20.", func(c *ReleaseChannel) *string { return &c.Name }, releaseChannelName())),
			text("type", "The product: ocp, which it is without this, or okd.", func(c *ReleaseChannel) *release.Product { return &c.Product }, products()),
			text("minVersion", "The lowest release taken.", func(c *ReleaseChannel) *string { return &c.Range.Min }, version()),
			text("maxVersion", "The highest release taken.", func(c *ReleaseChannel) *string { return &c.Range.Max }, version()),
			flag("shortestPath", "Of a range, take only the update path from one end to the other.",
				func(c *ReleaseChannel) *bool { return &c.ShortestPath }),
			flag("full", "Without a range, take every release of the channel instead of its head.", func(c *ReleaseChannel) *bool { return &c.Full }),
			words("from", "The versions that clusters run: the update paths from there to maxVersion or the head are taken; excludes minVersion.",
				func(c *ReleaseChannel) *[]InstalledVersion { return &c.From },
				func(pos Position, s string) InstalledVersion { return InstalledVersion{pos, s} },
				func(v InstalledVersion) string { return v.Version }, version()),
			section("risks", "What the risks of conditional updates count for on a path.",
				func(c *ReleaseChannel) *RiskPolicy { return &c.Risks }, riskObject()),
		},
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
				shape: policies.shape("avoid, which it is without this, takes conditional updates where nothing else leads there; ignore does not look at risks."),
			},
			names("accept", "Names of risks that do not count.", func(p *RiskPolicy) *[]string { return &p.Accept }, name()),
			names("forbid", "Names of risks that no path may have.", func(p *RiskPolicy) *[]string { return &p.Forbid }, name()),
		},
		check: checkRisks,
	}
}
