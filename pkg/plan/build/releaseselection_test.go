package build

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// TestChannelSelection checks every kind of selection from a channel. The results are the same as
// those of oc mirror.
func TestChannelSelection(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, entry, want string
		paths             []string
	}{
		{"default: the head", "", "4.20.2", nil},
		{"shortestPath without a range: the head", ", shortestPath: true", "4.20.2", nil},
		{"full", ", full: true", "4.18.1 4.18.2 4.19.1 4.19.2 4.19.3 4.20.0 4.20.1 4.20.2", nil},
		{"a minimum", ", minVersion: 4.19.3", "4.19.3 4.20.0 4.20.1 4.20.2", []string{"4.19.3 4.20.2"}},
		{"the head as minimum", ", minVersion: 4.20.2", "4.20.2", nil},
		{"a maximum", ", maxVersion: 4.19.1", "4.18.1 4.18.2 4.19.1", nil},
		{"the lowest as maximum", ", maxVersion: 4.18.1", "4.18.1", nil},
		{"both", ", minVersion: 4.18.2, maxVersion: 4.19.2", "4.18.2 4.19.1 4.19.2", []string{"4.18.2 4.19.1? 4.19.2"}},
		{"one release", ", minVersion: 4.19.2, maxVersion: 4.19.2", "4.19.2", nil},
		{"a path", ", minVersion: 4.18.1, maxVersion: 4.20.0, shortestPath: true", "4.18.1 4.19.1 4.19.2 4.20.0", []string{"4.18.1 4.19.1 4.19.2 4.20.0"}},
		{"a path of one release", ", minVersion: 4.19.2, maxVersion: 4.19.2, shortestPath: true", "4.19.2", nil},
		{
			"a path over conditional updates", ", minVersion: 4.18.2, maxVersion: 4.19.1, shortestPath: true",
			"4.18.2 4.19.1", []string{"4.18.2 4.19.1?"},
		},
		{
			"a path over an update that is not recommended", ", minVersion: 4.20.1, maxVersion: 4.20.2, shortestPath: true",
			"4.20.1 4.20.2", []string{"4.20.1 4.20.2!"},
		},
		{"a path to the head", ", minVersion: 4.19.1, shortestPath: true", "4.19.1 4.19.3 4.20.2", []string{"4.19.1 4.19.3 4.20.2"}},
		{"a path from the lowest", ", maxVersion: 4.19.2, shortestPath: true", "4.18.1 4.19.1 4.19.2", []string{"4.18.1 4.19.1 4.19.2"}},
		{"what clusters run", ", from: [4.18.1, 4.19.3]", "4.18.1 4.19.1 4.19.3 4.20.2", []string{"4.18.1 4.19.1 4.19.3 4.20.2", "4.19.3 4.20.2"}},
		{"what clusters run, to a release", ", from: [4.19.2], maxVersion: 4.20.0", "4.19.2 4.20.0", []string{"4.19.2 4.20.0"}},
		{"what clusters run is the head", ", from: [4.20.2]", "4.20.2", nil},
		{
			"a risk that is accepted", ", from: [4.18.2], maxVersion: 4.19.3, risks: {accept: [Ever]}",
			"4.18.2 4.19.3", []string{"4.18.2 4.19.3!"},
		},
		{
			"a risk that is forbidden", ", from: [4.19.2], maxVersion: 4.20.1, risks: {forbid: [Sometimes]}",
			"4.19.2 4.20.0 4.20.1", []string{"4.19.2 4.20.0 4.20.1"},
		},
		{"risks that are ignored", ", from: [4.18.2], risks: {policy: ignore}", "4.18.2 4.19.3 4.20.2", []string{"4.18.2 4.19.3! 4.20.2"}},
	} {
		c := selects(t, tc.name, testServices(t), "    channels: [{name: stable-4.20"+tc.entry+"}]\n", "", tc.want, tc.paths)
		if c == nil {
			continue
		}
		for _, r := range c.releases {
			if r.source != payloadOf(r.version) || r.product != release.OCP || len(r.reasons) == 0 || r.reasons[0].Channel != "stable-4.20" {
				t.Errorf("%s: %+v", tc.name, r)
			}
		}
	}
}

func TestReasonsOfReleases(t *testing.T) {
	t.Parallel()
	c, err := chooseFrom(t, testServices(t), `    channels:
    - {name: stable-4.20, from: [4.19.1]}
    - {name: stable-4.19, minVersion: 4.19.1, maxVersion: 4.19.3}
    - {name: fast-4.21, maxVersion: 4.20.7}
    - {name: stable-4.18, full: true}
`)
	fail.On(t, err)
	got := map[string]string{}
	for _, r := range c.releases {
		for _, why := range r.reasons {
			got[r.version] = strings.TrimSpace(got[r.version] + " " + why.Reason + ":" + why.Channel)
		}
	}
	want := map[string]string{
		"4.17.5": "full:stable-4.18 path:stable-4.18",
		"4.18.1": "full:stable-4.18 path:stable-4.18",
		"4.18.2": "full:stable-4.18 path:stable-4.18 path:stable-4.20",
		"4.19.1": "range:stable-4.19 from:stable-4.20 path:stable-4.20",
		"4.19.2": "range:stable-4.19",
		"4.19.3": "path:stable-4.19 range:stable-4.19 path:stable-4.20",
		"4.20.2": "range:fast-4.21 path:stable-4.20",
		"4.20.7": "range:fast-4.21",
	}
	fail.Diff(t, want, got)
	if want := "channel stable-4.18 for amd64 is mirrored completely: 3 releases from 4.17.5 to 4.18.2"; !slices.Contains(c.notes, want) {
		t.Errorf("notes: %q", c.notes)
	}
}

// TestPathsAcrossChannels checks the path between several channels: from the lowest release to the
// highest, in the channel of the highest. If that channel does not contain the lowest release, the
// path leads through the ends of other channels.
func TestPathsAcrossChannels(t *testing.T) {
	t.Parallel()
	const noted = "no update from 4.19.9 of stable-4.19 to 4.21.0 is planned for amd64: channel fast-4.21 does not contain 4.19.9; " +
		"add a channel between them, wait until a later release is in both, or use a configuration for each channel"
	for _, tc := range []struct {
		name, channels, want string
		paths                []string
		note, fails          string
	}{
		{
			"ranges", "{name: stable-4.18, minVersion: 4.18.1, maxVersion: 4.18.2}, {name: stable-4.20, minVersion: 4.20.0, maxVersion: 4.20.1}",
			"4.18.1 4.18.2 4.19.1 4.19.2 4.20.0 4.20.1", []string{"4.18.1 4.18.2", "4.18.1 4.19.1 4.19.2 4.20.0 4.20.1", "4.20.0 4.20.1"}, "", "",
		},
		{
			"the order does not matter", "{name: stable-4.20, maxVersion: 4.20.0, minVersion: 4.20.0}, {name: stable-4.18, minVersion: 4.18.1, maxVersion: 4.18.1}",
			"4.18.1 4.19.1 4.19.2 4.20.0", []string{"4.18.1 4.19.1 4.19.2 4.20.0"}, "", "",
		},
		{"heads", "{name: stable-4.18}, {name: stable-4.20, maxVersion: 4.20.0, minVersion: 4.20.0}", "4.18.2 4.19.1 4.19.2 4.20.0", []string{"4.18.2 4.19.1? 4.19.2 4.20.0"}, "", ""},
		{
			"the later channel does not have the lowest", "{name: stable-4.18, full: true}, {name: stable-4.20}",
			"4.17.5 4.18.1 4.18.2 4.19.1 4.19.3 4.20.2", []string{"4.17.5 4.18.1 4.18.2", "4.18.2 4.19.1? 4.19.3 4.20.2"}, "", "",
		},
		{
			"through the end of a channel", "{name: fast-4.21}, {name: stable-4.20}, {name: stable-4.18, minVersion: 4.18.2}",
			"4.18.2 4.19.1 4.19.3 4.20.2 4.21.0", []string{"4.18.2 4.19.1? 4.19.3 4.20.2", "4.20.2 4.21.0"}, "", "",
		},
		{"no later channel", "{name: stable-4.19}, {name: fast-4.21}", "4.19.9 4.21.0", nil, noted, ""},
		{
			"from leads on", "{name: stable-4.18, from: [4.18.1]}, {name: stable-4.20}",
			"4.18.1 4.18.2 4.19.1 4.19.3 4.20.2", []string{"4.18.1 4.18.2", "4.18.2 4.19.1? 4.19.3 4.20.2"}, "", "",
		},
		{"one in the other", "{name: stable-4.19, maxVersion: 4.19.3, minVersion: 4.19.3}, {name: stable-4.20, maxVersion: 4.19.2, minVersion: 4.18.1, shortestPath: true}",
			"4.18.1 4.19.1 4.19.2 4.19.3", []string{"4.18.1 4.19.1 4.19.3", "4.18.1 4.19.1 4.19.2"}, "", ""},
		{
			"no path", "{name: stable-4.19, maxVersion: 4.19.2, minVersion: 4.19.2}, {name: stable-4.20, maxVersion: 4.19.3, minVersion: 4.19.3}",
			"4.19.2 4.19.3", nil, "channel stable-4.20 for amd64: there is no upgrade path from 4.19.2 to 4.19.3", "",
		},
		{
			"no path, but shortestPath is set", "{name: stable-4.19, maxVersion: 4.19.2, minVersion: 4.19.2, shortestPath: true}, {name: stable-4.20, maxVersion: 4.19.3, minVersion: 4.19.3}",
			"", nil, "", "imageset.yaml:5: channel stable-4.20 for amd64: there is no upgrade path from 4.19.2 to 4.19.3",
		},
		{"heads by version", "{name: stable-4.9}, {name: stable, type: okd}", "4.20.0-okd-scos.10 4.9.10", nil, "", ""},
		{"products apart", "{name: stable-4.18}, {name: stable, type: okd}", "4.18.2 4.20.0-okd-scos.10", nil, "", ""},
	} {
		c := selects(t, tc.name, testServices(t), "    channels: ["+tc.channels+"]\n", tc.fails, tc.want, tc.paths)
		if c == nil {
			continue
		}
		if found := slices.ContainsFunc(c.notes, func(n string) bool { return strings.HasPrefix(n, tc.note) }); tc.note != "" && !found {
			t.Errorf("%s: notes %q", tc.name, c.notes)
		}
	}
}

func TestArchitecturesAreIndependent(t *testing.T) {
	t.Parallel()
	c, err := chooseFrom(t, testServices(t), "    architectures: [amd64, arm64]\n    channels: [{name: stable-4.20, from: [4.19.2]}]\n")
	if err == nil {
		t.Fatalf("the update to 4.20.2 for amd64 is not recommended, but was selected: %v", pathsOf(c))
	}
	c, err = chooseFrom(t, testServices(t), "    architectures: [amd64, arm64]\n    channels: [{name: stable-4.20, from: [4.19.2], maxVersion: 4.20.1}]\n")
	fail.On(t, err)
	fail.Diff(t, "4.19.2-aarch64 4.19.2 4.20.0 4.20.1-aarch64 4.20.1", versionsOf(c))
	if len(c.graphs) != 2 || c.graphs[0].URL >= c.graphs[1].URL {
		t.Errorf("graphs: %+v", c.graphs)
	}
}

// TestChannelErrors checks that errors name the position, the versions that exist, and a remedy.
func TestChannelErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, channel, want string }{
		{"an unknown channel", "{name: stable-4.99}", "imageset.yaml:5: channel stable-4.99 has no releases for amd64"},
		{
			"a version of another channel", "{name: stable-4.20, minVersion: 4.19.9, maxVersion: 4.19.9}",
			"imageset.yaml:5: 4.19.9 is not in channel stable-4.20 for amd64, but in stable-4.19: use that channel, or a version next to it, 4.19.3 or 4.20.0",
		},
		{
			"a version of a less stable channel", "{name: stable-4.20, minVersion: 4.21.0}",
			"imageset.yaml:5: 4.21.0 is not in channel stable-4.20 for amd64, but in fast-4.21: use that channel, or a version next to it, 4.20.2",
		},
		{
			"a version of no channel", "{name: stable-4.20, minVersion: 4.18.99, maxVersion: 4.18.99}",
			"imageset.yaml:5: 4.18.99 is not in channel stable-4.20 for amd64: use a version next to it, 4.18.2 or 4.19.1",
		},
		{
			"a range between two releases", "{name: stable-4.20, minVersion: 4.18.3, maxVersion: 4.18.99}",
			"imageset.yaml:5: channel stable-4.20 for amd64 has no release from 4.18.3 to 4.18.99: use a version next to it, 4.18.2 or 4.19.1",
		},
		{
			"a range above the head", "{name: stable-4.20, minVersion: 4.20.3, maxVersion: 4.21.0}",
			"imageset.yaml:5: channel stable-4.20 for amd64 has no release from 4.20.3 to 4.21.0: use a version next to it, 4.20.2",
		},
		{
			"a range below the lowest", "{name: stable-4.20, minVersion: 4.10.0, maxVersion: 4.10}",
			"imageset.yaml:5: channel stable-4.20 for amd64 has no release from 4.10.0 to 4.10: use a version next to it, 4.18.1",
		},
		{
			"a maximum below the lowest", "{name: stable-4.20, maxVersion: 4.10}",
			"imageset.yaml:5: 4.10 is not in channel stable-4.20 for amd64: use a version next to it, 4.18.1",
		},
		{
			"a cluster's version", "{name: stable-4.20, from: [4.18.1, 4.19.9]}",
			"imageset.yaml:5: 4.19.9 is not in channel stable-4.20 for amd64, but in stable-4.19: use that channel, or a version next to it, 4.19.3 or 4.20.0",
		},
		{
			"no path", "{name: stable-4.20, from: [4.19.1, 4.19.2], maxVersion: 4.19.3}",
			"imageset.yaml:5: channel stable-4.20 for amd64: there is no upgrade path from 4.19.2 to 4.19.3: no release above 4.19.2 has one either; it can update to 4.20.0, and at most to 4.20.1, without risks to accept",
		},
		{
			"a path that is not recommended", "{name: stable-4.20, from: [4.20.1]}",
			"imageset.yaml:5: channel stable-4.20 for amd64: 4.20.1 cannot be updated to 4.20.2: on its best path 4.20.1 -> 4.20.2, " +
				"these risks apply to every cluster: Ever; ",
		},
		{
			"a path that is forbidden", "{name: stable-4.20, minVersion: 4.18.2, maxVersion: 4.19.1, shortestPath: true, risks: {forbid: [Sometimes]}}",
			"these risks are forbidden: Sometimes",
		},
	} {
		c, err := chooseFrom(t, testServices(t), "    channels: ["+tc.channel+"]\n")
		switch {
		case err == nil:
			t.Errorf("%s: selected %s", tc.name, versionsOf(c))
		case !strings.Contains(err.Error(), tc.want):
			t.Errorf("%s:\n%v\nwant\n%s", tc.name, err, tc.want)
		case !errors.As(err, new(*advice.Error)) && tc.name != "an unknown channel":
			t.Errorf("%s: %T is not an input error", tc.name, err)
		}
	}
}

// TestRangeWithoutPathIsNoted checks that a range is mirrored with a note if no update path leads
// through it.
func TestRangeWithoutPathIsNoted(t *testing.T) {
	t.Parallel()
	c, err := chooseFrom(t, testServices(t), "    channels: [{name: stable-4.20, minVersion: 4.19.2, maxVersion: 4.19.3, risks: {accept: [Sometime]}}]\n")
	if err != nil || versionsOf(c) != "4.19.2 4.19.3" {
		t.Fatalf("%v, %v", c, err)
	}
	want := []string{
		`imageset.yaml:5: no update of channel stable-4.20 has the risk "Sometime"; did you mean "Sometimes"?`,
		"channel stable-4.20 for amd64: there is no upgrade path from 4.19.2 to 4.19.3: no release above 4.19.2 has one either; it can update to 4.20.0, and at most to 4.20.1, without risks to accept",
	}
	fail.Diff(t, want, c.notes)
}

// TestUnknownRisks checks the warnings on forbidden risks that no update has: a misspelled name has
// no effect. A risk that an update of any architecture has is known.
func TestUnknownRisks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		risks, arches string
		warnings      []string
	}{
		{"forbid: [Sometimes, Ever]", "[amd64]", nil},
		{"accept: [Sometime], forbid: [Evre]", "[amd64]", []string{
			`imageset.yaml:6: no update of channel stable-4.20 has the risk "Evre", so forbidding it (risks.forbid) has no effect; did you mean "Ever"?`,
		}},
		{"forbid: [GoneFromHere]", "[amd64]", []string{
			`imageset.yaml:6: no update of channel stable-4.20 has the risk "GoneFromHere", so forbidding it (risks.forbid) has no effect; check its spelling: gantry list releases prints the risks of a path`,
		}},
		{"forbid: [Sometimes]", "[arm64, amd64]", nil},
	} {
		c, err := chooseFrom(t, testServices(t), "    architectures: "+tc.arches+"\n    channels: [{name: stable-4.20, risks: {"+tc.risks+"}}]\n")
		fail.On(t, err)
		if diff := cmp.Diff(tc.warnings, c.warnings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.risks, diff)
		}
		for _, text := range tc.warnings {
			noted(t, c.notes, text)
		}
	}
}

// TestConflictingPayloads checks that two channels with different payloads for one version cannot
// be mirrored together.
func TestConflictingPayloads(t *testing.T) {
	t.Parallel()
	s := testServices(t)
	nodes := []graph.Node{{Version: semver.MustParse("4.20.2"), Payload: payloadOf("another")}}
	g, err := graph.New(nodes, nil, nil)
	fail.On(t, err)
	s["ocp fast-4.20 amd64"] = g
	_, err = chooseFrom(t, s, "    channels: [{name: stable-4.20}, {name: fast-4.20}]\n")
	says(t, err, "release 4.20.2-x86_64 is "+payloadOf("4.20.2")+" in channel stable-4.20 and "+payloadOf("another")+" in channel fast-4.20")
}

// TestBlockedPayloads checks that heads, ranges and paths ignore releases whose payload is blocked.
func TestBlockedPayloads(t *testing.T) {
	t.Parallel()
	block := func(stanza, versions string) (*releaseSelection, error) {
		text := stanza + "  blockedImages:\n"
		for v := range strings.FieldsSeq(versions) {
			text += "  - name: " + digest.FromString(v).Encoded()[:12] + "\n"
		}
		return chooseFrom(t, testServices(t), text)
	}
	c, err := block("    channels: [{name: stable-4.20}]\n", "4.20.2")
	if err != nil || versionsOf(c) != "4.20.1" || !strings.Contains(strings.Join(c.notes, " "), "channel stable-4.20 for amd64 is mirrored without the releases that blockedImages matches: 4.20.2 (") {
		t.Errorf("the head: %v, %v", c, err)
	}
	c, err = block("    channels: [{name: stable-4.20, from: [4.18.1]}]\n", "4.19.3 4.20.2")
	if err != nil || pathsOf(c)[0] != "4.18.1 4.19.1 4.19.2 4.20.0 4.20.1" {
		t.Errorf("a path: %v, %v", c, err)
	}
	c, err = block("    channels: [{name: stable-4.20, maxVersion: 4.19.3}]\n", "4.19.3")
	if err != nil || versionsOf(c) != "4.18.1 4.18.2 4.19.1 4.19.2" {
		t.Errorf("a bound: %v, %v", c, err)
	}
	if _, err = block("    channels: [{name: stable-4.20, minVersion: 4.19.3, maxVersion: 4.19.3}]\n", "4.19.3"); err == nil ||
		!strings.Contains(err.Error(), "4.19.3 of channel stable-4.20 for amd64 is blocked by blockedImages (") {
		t.Errorf("a requested release: %v", err)
	}
	_, err = chooseFrom(t, testServices(t), "    channels: [{name: stable-4.20}]\n  blockedImages: [{name: '^openshift/release-images$'}]\n")
	says(t, err, "blockedImages blocks every release of channel stable-4.20 for amd64")
}
