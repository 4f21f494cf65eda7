package view

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// platformPlan returns a plan with everything that can be written about releases.
func platformPlan() *plan.Plan {
	slow := plan.Risk{
		Name: "SlowPulls", URL: "https://issues.example.com/SlowPulls", Accepted: true,
		Message: "Images with many layers are pulled slowly, which can take so long that the machine that pulls them is taken for lost.",
		Rules:   []plan.RiskRule{{Type: "Always"}},
	}
	paused := plan.Risk{
		Name: "PausedPools", Message: "Machines of paused pools lose the network.",
		Rules: []plan.RiskRule{{Type: "PromQL", PromQL: "group(cluster_paused_pools)\nor\n  0 * group(cluster_version)\n"}},
	}
	ack := plan.Ack{Name: "ack-4.19-x-in-4.20", Message: "Some API goes."}
	return &plan.Plan{
		Releases: []plan.Release{
			{Version: "4.19.1", Arch: "amd64", Reasons: []plan.ReleaseReason{{Reason: "from", Channel: "fast-4.20"}, {Reason: "from", Channel: "stable-4.20"}}},
			{Version: "4.20.1", Arch: "amd64", Reasons: []plan.ReleaseReason{{Reason: "path", Channel: "fast-4.20"}, {Reason: "range", Channel: "fast-4.20"}, {Reason: "path", Channel: "stable-4.20"}}, Unverified: true},
			{Version: "4.21.0", Arch: release.Multi, Reasons: []plan.ReleaseReason{{Reason: "release"}}, Tools: []plan.Tool{
				{Name: "oc", Platform: "darwin/arm64"}, {Name: "oc", Platform: "linux/amd64"}, {Name: "oc-mirror", Platform: "linux/amd64"},
			}},
		},
		Updates: []plan.UpdatePath{
			{Product: release.OCP, Arch: "amd64", Channel: "fast-4.20", From: "4.19.1", To: "4.20.2", Hops: []plan.Hop{
				{From: "4.19.1", To: "4.20.1", Risks: []plan.Risk{slow, paused}, Acks: []plan.Ack{ack}, Blockers: []plan.Blocker{
					{Catalog: "registry.example.com/index:v1", Package: "quay", Bundle: "quay.v1.0.0", Max: "4.19"},
				}},
				{From: "4.20.1", To: "4.20.2", Risks: []plan.Risk{slow}},
			}},
			{Product: release.OKD, Arch: "amd64", Channel: "stable-4.20", From: "4.20.2", To: "4.20.2"},
		},
		GraphData: &plan.GraphData{
			Source: "https://updates.example.com/graph-data", SHA256: "sha256:aaaaaaaaaaaaaaaa", Digest: "sha256:bbbbbbbbbbbbbbbb",
			Base: "quay.example.com/cli@sha256:cc", Repository: "openshift/graph-image", Tag: "latest",
		},
	}
}

func TestPlatformTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writePlatform(&b, platformPlan(), 0)
	const want = `Platform releases
  RELEASE        TAKEN FOR                                  SIGNED        IMAGES  SIZE
  4.19.1-x86_64  fast-4.20: from; stable-4.20: from         yes           0       0 B
  4.20.1-x86_64  fast-4.20: path, range; stable-4.20: path  NOT VERIFIED  0       0 B
  4.21.0-multi   release                                    yes           0       0 B
  NOT VERIFIED: the signature of 1 release was not checked (--ignore-release-signature), and clusters may refuse it.

Tools in the images of releases
  4.21.0-multi: oc (darwin/arm64, linux/amd64), oc-mirror (linux/amd64)

Updates
  4.19.1 to 4.20.2 for amd64, in channel fast-4.20: 2 updates
    4.19.1 -> 4.20.1  to the next minor version
      risk SlowPulls: every cluster; accepted
      risk PausedPools: clusters that match a query
      to acknowledge: ack-4.19-x-in-4.20
      blocked by operator quay of catalog registry.example.com/index:v1: no selected bundle supports OpenShift newer than 4.19 (quay.v1.0.0)
    4.20.1 -> 4.20.2
      risk SlowPulls: every cluster; accepted
  4.20.2 to 4.20.2 for amd64, in channel stable-4.20 of OKD: nothing to do

Risks of these updates
  SlowPulls
    Images with many layers are pulled slowly, which can take so long that the machine that pulls them
    is taken for lost.
    https://issues.example.com/SlowPulls
    rule: Always, for every cluster
  PausedPools
    Machines of paused pools lose the network.
    rule: PromQL, for clusters where this is 1
      group(cluster_paused_pools)
      or
        0 * group(cluster_version)

To acknowledge before the update, in ConfigMap openshift-config/admin-acks
  ack-4.19-x-in-4.20
    Some API goes.

Graph data for an update service
  https://updates.example.com/graph-data (sha256:aaaaaaaaaaaa)
  becomes openshift/graph-image:latest (built on quay.example.com/cli@sha256:cc, sha256:bbbbbbbbbbbb)

`
	fail.Diff(t, want, b.String())
}
