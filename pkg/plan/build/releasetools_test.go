package build

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
)

func TestReleaseTools(t *testing.T) {
	t.Parallel()
	u := releasetest.Definition{
		Releases: []releasetest.Release{
			{Version: "4.20.1", Components: append(releasetest.ToolComponents(), "cluster-version-operator"), Tools: true},
			{Version: "4.20.2", Components: []string{"cli", "cluster-version-operator", "installer"}, Tools: true},
		},
		Channels: map[string][]string{"stable-4.20": {"4.20.1"}, "fast-4.20": {"4.20.2"}},
	}
	w := newReleaseFixture(t, u)
	for _, tc := range []struct{ channel, tools, want, note string }{
		{"stable-4.20", "false", "", ""},
		{"stable-4.20", "true", "oc-4.20.1-linux-amd64 oc-mirror-4.20.1-linux-amd64 openshift-install-4.20.1-linux-amd64", ""},
		{"stable-4.20", "{names: [oc, openshift-install], platforms: [darwin/arm64, linux/amd64]}", "oc-4.20.1-darwin-arm64 oc-4.20.1-linux-amd64 openshift-install-4.20.1-linux-amd64 openshift-install-4.20.1-x86_64-darwin-arm64", ""},
		{"fast-4.20", "true", "oc-4.20.2-linux-amd64 openshift-install-4.20.2-linux-amd64", `release 4.20.2-x86_64 has no image "oc-mirror", which would have oc-mirror for linux/amd64`},
	} {
		p := w.platform("    channels: [{name: " + tc.channel + "}]\n    tools: " + tc.tools + "\n")
		var files []string
		for _, tool := range p.Releases[0].Tools {
			files = append(files, tool.File)
		}
		if diff := cmp.Diff(strings.Fields(tc.want), files, cmp.Transformer("list", func(l []string) []string { return append([]string{}, l...) })); diff != "" {
			t.Errorf("%s: %s", tc.tools, diff)
		}
		if (tc.note != "") != slices.Contains(p.Notes, tc.note) {
			t.Errorf("%s: the notes are %q", tc.tools, p.Notes)
		}
	}
	for _, tc := range []struct{ tools, blocked, want, hint string }{
		{"{names: [oc-mirror]}", "", `release 4.20.2-x86_64 has no image "oc-mirror"`, "leave out the tool"},
		{"{platforms: [darwin/arm64]}", "", "has none of the tools oc, openshift-install, oc-mirror for darwin/arm64", "leave it out"},
		{"{names: [oc]}", w.Payload("4.20.2-x86_64").Images["cli"].String(), "oc is in image cli, which is blocked by blockedImages", "remove one of the two"},
	} {
		config := "    channels: [{name: fast-4.20}]\n    tools: " + tc.tools + "\n"
		if tc.blocked != "" {
			config += "  blockedImages: [{name: '.*" + tc.blocked + "'}]\n"
		}
		_, err := w.make("  platform:\n" + config)
		says(t, err, tc.want, "imageset.yaml:", tc.hint)
	}
}
