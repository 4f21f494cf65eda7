package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

func TestReleases(t *testing.T) {
	t.Parallel()
	const errata = "https://errata.example.com/"
	channels := []string{"eus-4.20", "stable-4.20"}
	path := &plan.UpdatePath{Product: "ocp", Arch: "amd64", Channel: "stable-4.20", From: "4.19.1", To: "4.20.1", Hops: []plan.Hop{{From: "4.19.1", To: "4.20.1", Risks: []plan.Risk{{
		Name: "SlowPulls", Message: "Images with many layers are pulled slowly.", URL: "https://issues.example.com/SlowPulls", Rules: []plan.RiskRule{{Type: "Always"}},
	}}}}}
	accepted := *path
	accepted.Hops = []plan.Hop{{From: "4.19.1", To: "4.20.1", Risks: []plan.Risk{path.Hops[0].Risks[0]}}}
	accepted.Hops[0].Risks[0].Accepted = true
	reached := releases.ListedChannel{Name: "fast-4.20", Arch: "amd64", Head: "4.20.2", Count: 6, From: "4.19.1", Releases: []releases.ListedRelease{
		{Version: "4.20.2", URL: errata + "2", Head: true, Size: 3 << 30, Reached: &releases.Reached{Hops: 2}},
		{Version: "4.20.1", URL: errata + "1", Reached: &releases.Reached{Hops: 1, Risks: 2, Always: 1}},
	}}
	multi := reached
	multi.Arch, multi.Releases = "multi", []releases.ListedRelease{}
	const risky = `Updates
  4.19.1 to 4.20.1 for amd64, in channel stable-4.20: 1 update
    4.19.1 -> 4.20.1  to the next minor version
      risk SlowPulls: every clusterACCEPTED

Risks of these updates
  SlowPulls
    Images with many layers are pulled slowly.
    https://issues.example.com/SlowPulls
    rule: Always, for every cluster
`
	for name, tc := range map[string]struct {
		list []releases.ListedChannel
		want string
	}{
		"channels": {[]releases.ListedChannel{{Name: "stable-4.20", Arch: "amd64", Head: "4.20.1", Count: 5}, {Name: "eus-4.20", Arch: "multi", Head: "4.20.2", Count: 12}}, `CHANNEL      ARCH   HEAD    RELEASES
stable-4.20  amd64  4.20.1  5
eus-4.20     multi  4.20.2  12
`},
		"releases": {[]releases.ListedChannel{{Name: "stable-4.20", Arch: "amd64", Releases: []releases.ListedRelease{{Version: "4.20.1", URL: errata + "1", Channels: channels, Head: true}, {Version: "4.19.2", URL: errata + "0", Channels: channels}}}}, `VERSION        ERRATUM                       CHANNELS
4.20.1   head  https://errata.example.com/1  eus-4.20, stable-4.20
4.19.2         https://errata.example.com/0  eus-4.20, stable-4.20
`},
		"reached": {[]releases.ListedChannel{reached}, `VERSION        SIZE     HOPS  RISKS                    ERRATUM
4.20.2   head  3.0 GiB  2     -                        https://errata.example.com/2
4.20.1         -        1     2 (1 for every cluster)  https://errata.example.com/1
`},
		"several": {[]releases.ListedChannel{{Name: "fast-4.20", Arch: "amd64", From: "4.20.1", Releases: reached.Releases[1:]}, multi}, `fast-4.20 for amd64, from 4.20.1
VERSION    HOPS  RISKS                    ERRATUM
4.20.1     1     2 (1 for every cluster)  https://errata.example.com/1

fast-4.20 for multi, from 4.19.1
no updates lead from 4.19.1 to any release
`},
		"nothing":  {[]releases.ListedChannel{multi}, "no updates lead from 4.19.1 to any release\n"},
		"a path":   {[]releases.ListedChannel{{Name: "stable-4.20", From: "4.19.1", Path: path}}, risky},
		"accepted": {[]releases.ListedChannel{{Name: "stable-4.20", From: "4.19.1", Path: &accepted}}, risky},
		"no hops":  {[]releases.ListedChannel{{Name: "stable-4.20", From: "4.20.1", Path: &plan.UpdatePath{Product: "ocp", Arch: "amd64", Channel: "stable-4.20", From: "4.20.1", To: "4.20.1"}}}, "Updates\n  4.20.1 to 4.20.1 for amd64, in channel stable-4.20: nothing to do\n"},
	} {
		want := tc.want
		switch name {
		case "a path":
			want = strings.ReplaceAll(want, "ACCEPTED", "")
		case "accepted":
			want = strings.ReplaceAll(want, "ACCEPTED", "; accepted")
		}
		if diff := cmp.Diff(want, Releases(&releases.ReleaseList{Version: 1, Product: "ocp", Channels: tc.list}, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReleaseContents(t *testing.T) {
	t.Parallel()
	const image = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:1"
	images := &releases.ReleaseImageList{Release: "4.20.5", Images: []releases.ReleaseImage{{Name: "cli", Image: image}}}
	tools := &releases.ReleaseToolList{Release: "4.20.5", Tools: []releases.ReleaseTool{
		{Name: "oc", Platform: "darwin/arm64", File: "oc-4.20.5-darwin-arm64", Digest: "sha256:aa"}, {Name: "oc", Platform: "linux/amd64", File: "oc-4.20.5-linux-amd64", Digest: "sha256:bb"},
		{Name: "oc-mirror", Platform: "linux/amd64", File: "oc-mirror-4.20.5-linux-amd64", Digest: "sha256:cc"},
	}}
	boot := &releases.BootImageList{Release: "4.20.5", BootImages: []releases.BootImage{{Kind: "metal/iso", Arch: "amd64", Part: "disk", Address: "https://boot.example.com/disk.iso"}}}
	info := &releases.ReleaseInfo{
		Release: "4.20.5", Arch: "amd64", Source: image, Digest: "sha256:dd", URL: "https://errata.example.com/1", Manifests: 10, Images: images.Images, Previous: []string{"4.19.7", "4.20.4"},
		Software: []releases.Software{{Name: "kubernetes", Version: "1.33.5"}}, Capabilities: []string{"Console"}, Profiles: []string{"ibm-cloud-managed"},
		Gates: []releases.ReleaseGate{{Name: "ack", Minor: "4.20", Message: "Some APIs are removed.", Command: "oc patch"}},
	}
	for name, tc := range map[string]struct{ got, want string }{
		"an image":    {ReleaseImages(images, []string{"cli"}, 0), image + "\n"},
		"images":      {ReleaseImages(images, []string{"c*"}, 0), "  NAME  IMAGE\n  cli   " + image + "\n"},
		"tools":       {ReleaseTools(tools, 0), "NAME       PLATFORMS\noc         darwin/arm64, linux/amd64\noc-mirror  linux/amd64\n"},
		"sums":        {ToolSums(tools), "aa  oc-4.20.5-darwin-arm64\nbb  oc-4.20.5-linux-amd64\ncc  oc-mirror-4.20.5-linux-amd64\n"},
		"boot images": {BootImages(boot, 0), "KIND       ARCH   PART  ADDRESS\nmetal/iso  amd64  disk  https://boot.example.com/disk.iso\n"},
		"a release": {ReleaseInfo(info, 0), "Release 4.20.5 for amd64\n  image    " + image + `
  digest   sha256:dd
  erratum  https://errata.example.com/1
  kubernetes 1.33.5

Updates from
  4.19.7, 4.20.4

To acknowledge before an update from 4.20
  ack
    Some APIs are removed.
    oc patch

10 manifests
  capabilities
    Console
  profiles
    ibm-cloud-managed

1 image
  NAME  IMAGE
  cli   ` + image + "\n"},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
