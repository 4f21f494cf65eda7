package state

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// The graph of what was planned holds the hops of one channel and architecture,
// between releases that are there, with the risks that this run has of them.
func TestPlannedGraph(t *testing.T) {
	t.Parallel()
	held := func(version string, channels ...string) Release {
		d := digest.FromString(version)
		return Release{
			Version: version, Arch: "multi", Source: "quay.io/vendor/release@" + d.String(), URL: "https://errata.example.com/" + version,
			Mirror: reference.Reference{Host: "mirror", Path: "releases", Digest: d}, Channels: channels,
		}
	}
	rare := release.Risk{Name: "Rare", Message: "Once.", URL: "https://issues.example.com/Rare", Rules: []release.RiskRule{{Type: "PromQL", PromQL: "up"}, {Type: "Always"}}}
	path := func(channel, arch string, hops ...release.Hop) release.UpdatePath {
		return release.UpdatePath{Arch: release.Arch(arch), Channel: channel, Hops: hops}
	}
	h := &Record{
		Releases: []Release{held("4.20.1", "stable-4.20", "fast-4.20"), held("4.19.2", "stable-4.20"), held("4.18.9", "stable-4.20")},
		Updates: []release.UpdatePath{
			path("stable-4.20", "multi", release.Hop{From: "4.18.9", To: "4.19.2"}, release.Hop{From: "4.19.2", To: "4.20.1", Risks: []release.Risk{rare}}),
			path("stable-4.20", "multi", release.Hop{From: "4.19.2", To: "4.20.1"}, release.Hop{From: "4.20.1", To: "4.20.7"}), // of another plan; 4.20.7 did not arrive
			path("fast-4.20", "multi", release.Hop{From: "4.18.9", To: "4.20.1"}),
			path("stable-4.20", "amd64", release.Hop{From: "4.18.9", To: "4.20.1"}),
		},
	}
	want := []Channel{{"fast-4.20", "multi"}, {"stable-4.20", "multi"}}
	fail.Diff(t, want, h.Channels())
	g, err := h.PlannedGraph(want[1])
	fail.On(t, err)
	var text bytes.Buffer
	fail.On(t, g.Write(&text))
	got := text.String()
	for _, r := range h.Releases {
		got = strings.ReplaceAll(got, r.Mirror.Digest.Encoded(), r.Version)
	}
	node := func(version, channels string) string {
		return `{"version":"` + version + `","payload":"quay.io/vendor/release@sha256:` + version + `","metadata":{"io.openshift.upgrades.graph.release.channels":"` + channels +
			`","io.openshift.upgrades.graph.release.manifestref":"sha256:` + version + `","release.openshift.io/architecture":"multi","url":"https://errata.example.com/` + version + `"}}`
	}
	if diff := cmp.Diff(`{"version":1,"nodes":[`+node("4.18.9", "stable-4.20")+","+node("4.19.2", "stable-4.20")+","+node("4.20.1", "fast-4.20,stable-4.20")+
		`],"edges":[[0,1]],"conditionalEdges":[{"edges":[{"from":"4.19.2","to":"4.20.1"}],"risks":[{"url":"https://issues.example.com/Rare","name":"Rare","message":"Once.",`+
		`"matchingRules":[{"type":"PromQL","promql":{"promql":"up"}},{"type":"Always"}]}]}]}`+"\n", got); diff != "" {
		t.Error(diff)
	}
}
