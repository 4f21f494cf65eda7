package proof

import (
	"errors"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/releasetest"
)

// testVersions asks mirrors that lack one thing each for the way between two versions,
// without a plan.
func testVersions(t *testing.T, all *site) {
	digestOf := func(name string) digest.Digest { return all.world.Payload(name).Digest }
	component := func(name string) string {
		return all.options.Components + "@" + all.world.Payload(name).Images["rhel-coreos"].String()
	}
	remove := func(refs ...string) func(*site) {
		return func(s *site) {
			for _, ref := range refs {
				s.gone[ref] = true
			}
		}
	}
	const (
		yes1, no1, yes2, no2 = "4.18.1 4.19.2 yes", "4.18.1 4.19.2 no", "4.19.2 4.20.2 yes", "4.19.2 4.20.2 no"
		signatureTag         = "4.21.1-x86_64"
		noWorkspace          = "there are no cluster resources for this mirror in the workspace work: whether clusters find the signatures of the releases, and accept them, was not looked at"
	)
	shard := all.options.Releases + "@" + all.world.Payload("4.21.1-multi").Shards["arm64"].String()
	for _, test := range []struct {
		name                  string
		change                func(*site)
		from, to              string
		channel               string
		arch                  release.Arch
		hops, problems, notes []string
	}{
		{"nothing", nil, "4.18.1", "4.20.2", "fast-4.20", "", []string{yes1, yes2}, nil, nil},
		{"from several", nil, "4.18.1 4.19.2", "4.20.2", "fast-4.20", "", []string{yes1, yes2, yes2}, nil, nil},
		{"risks", nil, "4.18.1 4.19.1", "4.19.1", "fast-4.20", "", []string{"4.18.1 4.19.1 yes PausedPools"}, nil, nil},
		{"the stable channel", nil, "4.19.2", "4.20.1", "", "", []string{"4.19.2 4.20.1 yes"}, nil, nil},
		{"another channel where there is no stable one", nil, "4.19.2", "4.20.2", "", "", []string{yes2}, nil, nil},
		{
			"a component", remove(component(middle)), "4.18.1", "4.20.2", "fast-4.20", "",
			[]string{no1, no2}, []string{middle + ": component rhel-coreos" + gone}, nil,
		},
		{
			"a component of a release elsewhere", remove(component("4.19.1-x86_64")), "4.18.1", "4.20.2", "fast-4.20", "",
			[]string{yes1, yes2}, nil, nil,
		},
		{
			"signatures of images", remove(all.options.Components + ":" + releasetest.SignatureTag(all.world.Payload(signatureTag).Images["rhel-coreos"])),
			"4.20.2", "4.21.1", "", "", []string{"4.20.2 4.21.1 no"}, []string{signatureTag + ": signatures of component rhel-coreos" + gone}, nil,
		},
		{
			"signatures of images that no cluster asks for", remove(all.options.Components + ":" + releasetest.SignatureTag(all.world.Payload(last).Images["rhel-coreos"])),
			"4.19.2", "4.20.2", "", "", []string{yes2}, nil, nil,
		},
		{
			"an image of a list", remove(shard), "4.20.2", "4.21.1", "", release.Multi,
			[]string{"4.20.2 4.21.1 no"}, []string{"4.21.1-multi: release image for linux/arm64" + gone}, nil,
		},
		{
			"a ConfigMap", func(s *site) { delete(s.configMaps, digestOf(last)) }, "4.18.1", "4.20.2", "fast-4.20", "",
			[]string{yes1, no2}, []string{last + ": the ConfigMap with the signatures of " + digestOf(last).String() + " is not there"}, nil,
		},
		{
			"the ConfigMap of what clusters run", func(s *site) { delete(s.configMaps, digestOf(first)) }, "4.18.1", "4.20.2", "fast-4.20", "",
			[]string{yes1, yes2}, nil, nil,
		},
		{
			"what is in a ConfigMap", func(s *site) { s.configMaps[digestOf(middle)] = []byte("{}") }, "4.18.1", "4.20.2", "fast-4.20", "",
			[]string{no1, no2}, []string{middle + ": reading the signatures of " + digestOf(middle).String() + ": it is no ConfigMap"}, nil,
		},
		{
			"a signature that clusters accept", func(s *site) {
				s.configMaps[digestOf(last)] = configMap(t, digestOf(last), all.strange(t, digestOf(last)))
			}, "4.18.1", "4.20.2", "fast-4.20", "",
			[]string{yes1, no2}, []string{"a cluster that runs 4.19.2 will not accept the signatures of 4.20.2: the image " + digestOf(last).String() + " is not trusted"}, nil,
		},
		{
			"a signature that anybody asks for", func(s *site) {
				s.options.IgnoreSignatures = true
				delete(s.configMaps, digestOf(last))
			}, "4.18.1", "4.20.2", "fast-4.20", "", []string{yes1, yes2}, nil, []string{notLookedAt},
		},
		{
			"the workspace", func(s *site) { s.configMaps = nil }, "4.18.1", "4.20.2", "fast-4.20", "", []string{yes1, yes2}, nil, []string{noWorkspace},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := all.changed(test.change).check(t)
			arch := test.arch
			if arch == "" {
				arch = release.DefaultArch
			}
			var from []semver.Version
			for _, v := range strings.Fields(test.from) {
				from = append(from, semver.MustParse(v))
			}
			if err := c.Versions(t.Context(), from, semver.MustParse(test.to), test.channel, arch); err != nil {
				t.Fatal(err)
			}
			holds(t, c.Report(), test.hops, test.problems, test.notes)
		})
	}
	for _, test := range []struct {
		name         string
		change       func(*site)
		from, to     string
		channel      string
		want, advice string
	}{
		{"graph data", func(s *site) { s.data = nil }, "4.18.1", "4.20.2", "", "there is no graph data at " + all.options.GraphData + ",", "graph: true"},
		{"a channel", nil, "4.18.1", "4.22.2", "", "no channel of the graph data at", ""},
		{"this channel", nil, "4.18.1", "4.20.2", "fast-4.2", `the graph data has no channel "fast-4.2"`, ""},
		{"a release", remove(all.options.Releases + ":" + last), "4.18.1", "4.20.2", "fast-4.20", "channel fast-4.20 for amd64: the graph does not have the target 4.20.2", ""},
		{"what leads there", remove(all.options.Releases+":"+middle, all.options.Releases+":4.19.1-x86_64"), "4.18.1", "4.20.2", "fast-4.20", "no updates lead from 4.18.1 to 4.20.2", ""},
	} {
		t.Run("without "+test.name, func(t *testing.T) {
			c := all.changed(test.change).check(t)
			err := c.Versions(t.Context(), []semver.Version{semver.MustParse(test.from)}, semver.MustParse(test.to), test.channel, release.DefaultArch)
			var impossible *ImpossibleError
			if !errors.As(err, &impossible) || !strings.Contains(impossible.Problem, test.want) || !strings.Contains(impossible.Hint, test.advice) {
				t.Errorf("it says %v, want %q", err, test.want)
			}
		})
	}
}
