package proof

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// testVersions checks the path between two versions, without a plan, with mirrors that each lack
// one thing.
func testVersions(t *testing.T, all *site) {
	digestOf := func(name string) digest.Digest { return all.fixture.Payload(name).Digest }
	component := func(name string) string {
		return all.options.Components + "@" + all.fixture.Payload(name).Images["rhel-coreos"].String()
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
		missing              = ": missing from the mirror"
		noWorkspace          = "the workspace work has no cluster resources for this mirror: the signatures of releases were not checked"
	)
	shard := all.options.Releases + "@" + all.fixture.Payload("4.21.1-multi").Shards["arm64"].String()
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
		{"another channel if no stable one has both", nil, "4.19.2", "4.20.2", "", "", []string{yes2}, nil, nil},
		{
			"a component", remove(component(middle)), "4.18.1", "4.20.2", "fast-4.20", "",
			[]string{no1, no2}, []string{middle + ": component rhel-coreos" + missing}, nil,
		},
		{
			"a component of another release", remove(component("4.19.1-x86_64")), "4.18.1", "4.20.2", "fast-4.20", "",
			[]string{yes1, yes2}, nil, nil,
		},
		{
			"signatures of images", remove(all.options.Components + ":" + releasetest.SignatureTag(all.fixture.Payload(signatureTag).Images["rhel-coreos"])),
			"4.20.2", "4.21.1", "", "", []string{"4.20.2 4.21.1 no"}, []string{signatureTag + ": signatures of component rhel-coreos" + missing}, nil,
		},
		{
			"signatures of images that no cluster asks for", remove(all.options.Components + ":" + releasetest.SignatureTag(all.fixture.Payload(last).Images["rhel-coreos"])),
			"4.19.2", "4.20.2", "", "", []string{yes2}, nil, nil,
		},
		{
			"an image of a list", remove(shard), "4.20.2", "4.21.1", "", release.Multi,
			[]string{"4.20.2 4.21.1 no"}, []string{"4.21.1-multi: release image for linux/arm64" + missing}, nil,
		},
		{
			"a ConfigMap", func(s *site) { delete(s.configMaps, digestOf(last)) }, "4.18.1", "4.20.2", "fast-4.20", "",
			[]string{yes1, no2}, []string{last + ": the ConfigMap with the signatures of " + digestOf(last).String() + " is missing"}, nil,
		},
		{
			"the ConfigMap of the release that clusters run", func(s *site) { delete(s.configMaps, digestOf(first)) }, "4.18.1", "4.20.2", "fast-4.20", "",
			[]string{yes1, yes2}, nil, nil,
		},
		{
			"the content of a ConfigMap", func(s *site) { s.configMaps[digestOf(middle)] = []byte("{}") }, "4.18.1", "4.20.2", "fast-4.20", "",
			[]string{no1, no2}, []string{middle + ": reading the signatures of " + digestOf(middle).String() + ": it is not a ConfigMap"}, nil,
		},
		{
			"a signature that clusters accept", func(s *site) {
				s.configMaps[digestOf(last)] = configMap(t, digestOf(last), all.strange(t, digestOf(last)))
			}, "4.18.1", "4.20.2", "fast-4.20", "",
			[]string{yes1, no2}, []string{"a cluster that runs 4.19.2 will not accept the signatures of 4.20.2: the image " + digestOf(last).String() + " is not trusted"}, nil,
		},
		{
			"a signature that is checked", func(s *site) {
				s.options.IgnoreReleaseSignature = true
				delete(s.configMaps, digestOf(last))
			}, "4.18.1", "4.20.2", "fast-4.20", "", []string{yes1, yes2}, nil, []string{signaturesNotChecked},
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
			for v := range strings.FieldsSeq(test.from) {
				from = append(from, semver.MustParse(v))
			}
			fail.On(t, c.Versions(t.Context(), from, semver.MustParse(test.to), test.channel, arch))
			compare(t, c.Report(), test.hops, test.problems, test.notes)
		})
	}
	for _, test := range []struct {
		name       string
		change     func(*site)
		from, to   string
		channel    string
		want, hint string
	}{
		{"graph data", func(s *site) { s.data = nil }, "4.18.1", "4.20.2", "", "the mirror has no graph data at " + all.options.GraphData + ",", "graph: true"},
		{"a channel", nil, "4.18.1", "4.22.2", "", "no channel of the graph data at", ""},
		{"this channel", nil, "4.18.1", "4.20.2", "fast-4.2", `the graph data has no channel "fast-4.2"`, ""},
		{"a release", remove(all.options.Releases+":"+last, all.options.Releases+":4.20.2-multi"), "4.18.1", "4.20.2", "fast-4.20", "channel fast-4.20 for amd64: the update graph does not contain the target 4.20.2", ""},
		{"this architecture", remove(all.options.Releases + ":" + last), "4.20.1", "4.20.2", "fast-4.20", "has no release 4.20.2 for amd64, but for multi", "set Options.Arch to multi"},
		{"a path", remove(all.options.Releases+":"+middle, all.options.Releases+":4.19.1-x86_64"), "4.18.1", "4.20.2", "fast-4.20", "there is no upgrade path from 4.18.1 to 4.20.2", ""},
	} {
		t.Run("without "+test.name, func(t *testing.T) {
			c := all.changed(test.change).check(t)
			err := c.Versions(t.Context(), []semver.Version{semver.MustParse(test.from)}, semver.MustParse(test.to), test.channel, release.DefaultArch)
			if advice.KindOf(err) != advice.Mismatch || !strings.Contains(err.Error(), test.want) || !strings.Contains(advice.Hint(err), test.hint) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

// testArches checks which architectures are checked if none is given.
func testArches(t *testing.T, all *site) {
	const note = "updates for %s were not checked, because the mirror does not have every version for it; to check them, set Options.Arch"
	for _, test := range []struct {
		versions, gone, want, note string
	}{
		{"4.18.1 4.20.2", "", "amd64", "multi"},
		{"4.20.1 4.20.2", "", "amd64 multi", ""},
		{"4.20.1 4.20.2", "4.20.2-x86_64", "multi", ""},
		{"4.20.1 4.20.2", "4.20.1-x86_64", "multi", "amd64"},
		{"4.18.1 4.20.2", "4.20.2-x86_64", "multi", ""}, // there is no path, which is the error of Versions
		{"4.18.1 4.30.1", "", "", ""},
	} {
		c := all.changed(func(s *site) { s.gone[all.options.Releases+":"+test.gone] = true }).check(t)
		var versions []semver.Version
		for v := range strings.FieldsSeq(test.versions) {
			versions = append(versions, semver.MustParse(v))
		}
		if got := strings.ReplaceAll(archList(c.Arches(versions)), ",", ""); got != test.want {
			t.Errorf("%s without %q: got %q, want %q", test.versions, test.gone, got, test.want)
		}
		var notes []string
		if test.note != "" {
			notes = []string{fmt.Sprintf(note, test.note)}
		}
		if diff := cmp.Diff(notes, c.Report().Notes); diff != "" {
			t.Errorf("%s without %q: notes (-want +got):\n%s", test.versions, test.gone, diff)
		}
	}
}

// Paths and plans share hops. They are counted once.
func TestHopsAreCountedOnce(t *testing.T) {
	t.Parallel()
	ok, broken := HopReport{From: "4.18.1", To: "4.19.2", Possible: true}, HopReport{From: "4.19.2", To: "4.20.2", Problems: []Problem{{Problem: "missing"}}}
	offered := broken
	offered.Possible, offered.Problems, offered.Risks = true, nil, []string{"Risk"}
	r := Report{Updates: []UpdateReport{
		{Channel: "eus-4.20", Arch: "amd64", Hops: []HopReport{ok, offered}},
		{Channel: "eus-4.20", Arch: "amd64", Hops: []HopReport{broken}},
		{Channel: "eus-4.20", Arch: "multi", Hops: []HopReport{ok}},
	}}
	merged := broken
	merged.Risks = offered.Risks
	fail.Diff(t, []ChannelHop{{"eus-4.20", "amd64", ok}, {"eus-4.20", "amd64", merged}, {"eus-4.20", "multi", ok}}, r.Hops())
	if hops, impossible, _ := r.Count(); hops != 3 || impossible != 1 {
		t.Errorf("%d hops, %d of them are not possible", hops, impossible)
	}
}
