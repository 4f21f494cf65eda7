package build

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
)

func TestBootFiles(t *testing.T) {
	t.Parallel()
	const server = "https://boot.example.com/art"
	boot := map[string]string{"amd64/metal/iso/disk": "an ISO image", "amd64/metal/pxe/kernel": "a kernel", "amd64/metal/pxe/rootfs": "a root", "arm64/metal/iso/disk": "another"}
	u := releasetest.Definition{
		BootServer: server,
		Releases: []releasetest.Release{
			{Version: "4.20.1", BootFiles: boot},
			{Version: "4.20.1", Arch: "multi", BootFiles: boot},
			{Version: "4.20.2"},
			{Version: "4.20.3", BootFiles: map[string]string{"amd64/metal/iso/disk": "is not there"}},
		},
		Channels: map[string][]string{"stable-4.20": {"4.20.1"}, "fast-4.20": {"4.20.2"}, "candidate-4.20": {"4.20.3"}},
	}
	w := newReleaseFixture(t, u)
	from := w.sources()
	from.Downloads = downloads{}
	for key, content := range boot {
		from.Downloads.(downloads)[server+"/"+releasetest.BootFile("4.20.1", key)] = content
	}
	planned := func(stanza string) (*plan.Plan, error) {
		return Plan(t.Context(), parseConfig(t, "  platform:\n"+stanza), "imageset", from, Options{})
	}
	for _, tc := range []struct{ stanza, files, notes string }{
		{"    channels: [{name: stable-4.20}]\n    tools: {names: [oc]}\n", "", ""},
		{"    channels: [{name: stable-4.20}]\n    tools: {names: [oc], bootImages: [metal/iso]}\n", "rhcos-4.20.1-metal-iso-disk.x86_64", ""},
		{"    channels: [{name: stable-4.20}]\n    tools: {names: [oc], bootImages: [metal/pxe]}\n", "rhcos-4.20.1-metal-pxe-kernel.x86_64 rhcos-4.20.1-metal-pxe-rootfs.x86_64", ""},
		{"    channels: [{name: stable-4.20}]\n    architectures: [amd64, multi]\n    tools: {names: [oc], bootImages: [metal/iso]}\n", "rhcos-4.20.1-metal-iso-disk.aarch64 rhcos-4.20.1-metal-iso-disk.x86_64", ""},
		{"    channels: [{name: stable-4.20}]\n    platforms: [{os: linux, architecture: arm64}]\n    tools: {names: [oc], platforms: [linux/arm64], bootImages: [metal/iso]}\n", "rhcos-4.20.1-metal-iso-disk.aarch64", ""},
		{"    channels: [{name: fast-4.20}]\n    tools: {names: [oc], bootImages: [metal/iso]}\n", "", "release 4.20.2-x86_64 lists no boot images for the mirrored architectures; bootImages has no effect"},
	} {
		p, err := planned(tc.stanza)
		if err != nil {
			t.Errorf("%s: %v", tc.stanza, err)
			continue
		}
		var files []string
		for _, f := range p.Files {
			files = append(files, f.Name)
			if content := from.Downloads.(downloads)[f.Origin]; f.SHA256.Validate() != nil || f.Size != int64(len(content)) || f.Source != plan.FileScheme+server+"/"+f.Name {
				t.Errorf("%+v", f)
			}
		}
		if diff := cmp.Diff(strings.Fields(tc.files), files, cmp.Transformer("list", func(l []string) []string { return append([]string{}, l...) })); diff != "" {
			t.Errorf("%s: %s", tc.stanza, diff)
		}
		for _, r := range p.Releases {
			for _, iso := range r.LiveISOs {
				if !slices.Contains(files, iso.File) || iso.Build != r.Version || !strings.HasSuffix(iso.File, "."+iso.Arch.Suffix()) {
					t.Errorf("%s: release %s: %+v", tc.stanza, r.Name(), iso)
				}
			}
			if got, want := len(r.LiveISOs) > 0, strings.Contains(tc.files, "-iso-"); got != want {
				t.Errorf("%s: release %s names ISO images: %v", tc.stanza, r.Name(), got)
			}
		}
		if len(p.Missing) > 0 || (tc.notes != "") != slices.Contains(p.Notes, tc.notes) {
			t.Errorf("%s: missing %v, notes %q", tc.stanza, p.Missing, p.Notes)
		}
	}

	p, err := planned("    channels: [{name: candidate-4.20}]\n    tools: {names: [oc], bootImages: [metal/iso]}\n")
	if err != nil || len(p.Missing) != 1 || !strings.HasSuffix(p.Missing[0].Source, "rhcos-4.20.3-metal-iso-disk.x86_64") || p.Missing[0].Kind != plan.FileImage || p.Releases[0].LiveISOs != nil {
		t.Errorf("a boot image that does not exist: %v, %v", p, err)
	}
	_, err = planned("    channels: [{name: stable-4.20}]\n    tools: {names: [oc], bootImages: [metal/isos]}\n")
	says(t, err, `release 4.20.1-x86_64 has no boot image "metal/isos" for amd64`, `did you mean "metal/iso"`)
}
