package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
)

// Every way to say what is taken of a channel.
func TestChannelsMeanWhatOcMirrorTakes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, entry, want string
		paths             []string
	}{
		{"nothing: the head", "", "4.20.2", nil},
		{"shortestPath of nothing: the head", ", shortestPath: true", "4.20.2", nil},
		{"full", ", full: true", "4.18.1 4.18.2 4.19.1 4.19.2 4.19.3 4.20.0 4.20.1 4.20.2", nil},
		{"a minimum", ", minVersion: 4.19.3", "4.19.3 4.20.0 4.20.1 4.20.2", []string{"4.19.3 4.20.2"}},
		{"the head as minimum", ", minVersion: 4.20.2", "4.20.2", nil},
		{"a maximum", ", maxVersion: 4.19.1", "4.18.1 4.18.2 4.19.1", nil},
		{"the lowest as maximum", ", maxVersion: 4.18.1", "4.18.1", nil},
		{"both", ", minVersion: 4.18.2, maxVersion: 4.19.2", "4.18.2 4.19.1 4.19.2", []string{"4.18.2 4.19.1? 4.19.2"}},
		{"one release", ", minVersion: 4.19.2, maxVersion: 4.19.2", "4.19.2", nil},
		{"a path", ", minVersion: 4.18.1, maxVersion: 4.20.0, shortestPath: true", "4.18.1 4.19.1 4.19.2 4.20.0", []string{"4.18.1 4.19.1 4.19.2 4.20.0"}},
		{"a path of nothing", ", minVersion: 4.19.2, maxVersion: 4.19.2, shortestPath: true", "4.19.2", []string{"4.19.2"}},
		{
			"a path over conditional updates", ", minVersion: 4.18.2, maxVersion: 4.19.1, shortestPath: true",
			"4.18.2 4.19.1", []string{"4.18.2 4.19.1?"},
		},
		{
			"a path over what nobody is recommended", ", minVersion: 4.20.1, maxVersion: 4.20.2, shortestPath: true",
			"4.20.1 4.20.2", []string{"4.20.1 4.20.2!"},
		},
		{"a path to the head", ", minVersion: 4.19.1, shortestPath: true", "4.19.1 4.19.3 4.20.2", []string{"4.19.1 4.19.3 4.20.2"}},
		{"a path from the lowest", ", maxVersion: 4.19.2, shortestPath: true", "4.18.1 4.19.1 4.19.2", []string{"4.18.1 4.19.1 4.19.2"}},
		{"what clusters run", ", from: [4.18.1, 4.19.3]", "4.18.1 4.19.1 4.19.3 4.20.2", []string{"4.18.1 4.19.1 4.19.3 4.20.2", "4.19.3 4.20.2"}},
		{"what clusters run, to a release", ", from: [4.19.2], maxVersion: 4.20.0", "4.19.2 4.20.0", []string{"4.19.2 4.20.0"}},
		{"what clusters run is the head", ", from: [4.20.2]", "4.20.2", []string{"4.20.2"}},
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
		c, err := chooseFrom(t, testServices(t), "    channels: [{name: stable-4.20"+tc.entry+"}]\n")
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got := versionsOf(c); got != tc.want {
			t.Errorf("%s: chose %s, want %s", tc.name, got, tc.want)
		}
		if diff := cmp.Diff(tc.paths, pathsOf(c)); diff != "" {
			t.Errorf("%s: paths %s", tc.name, diff)
		}
		for _, r := range c.releases {
			if r.payload != payloadOf(r.version) || r.product != release.OCP || len(r.reasons) == 0 || r.reasons[0].Channel != "stable-4.20" {
				t.Errorf("%s: %+v", tc.name, r)
			}
		}
	}
}

// The head is the highest version, not the last text.
func TestHeadIsByVersion(t *testing.T) {
	t.Parallel()
	c, err := chooseFrom(t, testServices(t), "    channels: [{name: stable-4.9}, {name: stable, type: okd}]\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := versionsOf(c); got != "4.20.0-okd-scos.10 4.9.10" {
		t.Errorf("chose %s", got)
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
	if err != nil {
		t.Fatal(err)
	}
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "channel stable-4.18 for amd64 is taken whole: 3 releases from 4.17.5 to 4.18.2"; !slices.Contains(c.notes, want) {
		t.Errorf("notes: %q", c.notes)
	}
}

// Between several channels the path leads from the lowest release to the highest,
// in the channel of the latter, or over the ends of others where that does not go
// back so far.
func TestPathsAcrossChannels(t *testing.T) {
	t.Parallel()
	const noted = "no update from 4.19.9 of stable-4.19 to 4.21.0 is planned for amd64, since no channel that ends above it has it: " +
		"mirror one that does, or write from: under that which clusters go to"
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
			"the channel above lacks the lowest", "{name: stable-4.18, full: true}, {name: stable-4.20}",
			"4.17.5 4.18.1 4.18.2 4.19.1 4.19.3 4.20.2", []string{"4.17.5 4.18.1 4.18.2", "4.18.2 4.19.1? 4.19.3 4.20.2"}, "", "",
		},
		{
			"over the end of one", "{name: fast-4.21}, {name: stable-4.20}, {name: stable-4.18, minVersion: 4.18.2}",
			"4.18.2 4.19.1 4.19.3 4.20.2 4.21.0", []string{"4.18.2 4.19.1? 4.19.3 4.20.2", "4.20.2 4.21.0"}, "", "",
		},
		{"no channel leads on", "{name: stable-4.19}, {name: fast-4.21}", "4.19.9 4.21.0", nil, noted, ""},
		{"what clusters run leads itself", "{name: stable-4.18, from: [4.18.1]}, {name: stable-4.20}", "4.18.1 4.18.2 4.20.2", []string{"4.18.1 4.18.2"}, "", ""},
		{"one in the other", "{name: stable-4.19, maxVersion: 4.19.3, minVersion: 4.19.3}, {name: stable-4.20, maxVersion: 4.19.2, minVersion: 4.18.1, shortestPath: true}",
			"4.18.1 4.19.1 4.19.2 4.19.3", []string{"4.18.1 4.19.1 4.19.3", "4.18.1 4.19.1 4.19.2"}, "", ""},
		{
			"no way", "{name: stable-4.19, maxVersion: 4.19.2, minVersion: 4.19.2}, {name: stable-4.20, maxVersion: 4.19.3, minVersion: 4.19.3}",
			"4.19.2 4.19.3", nil, "channel stable-4.20 for amd64: no updates lead from 4.19.2 to 4.19.3", "",
		},
		{
			"no way for who asked for one", "{name: stable-4.19, maxVersion: 4.19.2, minVersion: 4.19.2, shortestPath: true}, {name: stable-4.20, maxVersion: 4.19.3, minVersion: 4.19.3}",
			"", nil, "", "imageset.yaml:5: channel stable-4.20 for amd64: no updates lead from 4.19.2 to 4.19.3",
		},
		{"products apart", "{name: stable-4.18}, {name: stable, type: okd}", "4.18.2 4.20.0-okd-scos.10", nil, "", ""},
	} {
		c, err := chooseFrom(t, testServices(t), "    channels: ["+tc.channels+"]\n")
		if tc.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got := versionsOf(c); got != tc.want {
			t.Errorf("%s: chose %s, want %s", tc.name, got, tc.want)
		}
		slices.Sort(tc.paths)
		got := pathsOf(c)
		slices.Sort(got)
		if diff := cmp.Diff(tc.paths, slices.DeleteFunc(got, func(s string) bool { return !strings.Contains(s, " ") })); diff != "" && len(tc.paths)+len(got) > 0 {
			t.Errorf("%s: paths %s", tc.name, diff)
		}
		if found := slices.ContainsFunc(c.notes, func(n string) bool { return strings.HasPrefix(n, tc.note) }); tc.note != "" && !found {
			t.Errorf("%s: notes %q", tc.name, c.notes)
		}
	}
}

func TestArchitecturesAreApart(t *testing.T) {
	t.Parallel()
	c, err := chooseFrom(t, testServices(t), "    architectures: [amd64, arm64]\n    channels: [{name: stable-4.20, from: [4.19.2]}]\n")
	if err == nil {
		t.Fatalf("for amd64 nobody recommends 4.20.2 to anybody: %v", pathsOf(c))
	}
	c, err = chooseFrom(t, testServices(t), "    architectures: [amd64, arm64]\n    channels: [{name: stable-4.20, from: [4.19.2], maxVersion: 4.20.1}]\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := versionsOf(c); got != "4.19.2-aarch64 4.19.2 4.20.0 4.20.1-aarch64 4.20.1" {
		t.Errorf("chose %s", got)
	}
	if len(c.graphs) != 2 || c.graphs[0].URL >= c.graphs[1].URL {
		t.Errorf("graphs: %+v", c.graphs)
	}
}

// What is wrong is said with its place, what there is instead, and what to do.
func TestChannelErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, channel, want string }{
		{"an unknown channel", "{name: stable-4.99}", "imageset.yaml:5: channel stable-4.99 has no releases for amd64"},
		{
			"a version of another channel", "{name: stable-4.20, minVersion: 4.19.9}",
			"imageset.yaml:5: 4.19.9 is not in channel stable-4.20 for amd64; stable-4.19 has it: take it of that channel, or name what is next to it here, 4.19.3 and 4.20.0",
		},
		{
			"a version of a less careful channel", "{name: stable-4.20, maxVersion: 4.21.0}",
			"imageset.yaml:5: 4.21.0 is not in channel stable-4.20 for amd64; fast-4.21 has it: take it of that channel, or name what is next to it here, 4.20.2",
		},
		{
			"a version of none", "{name: stable-4.20, maxVersion: 4.18.99}",
			"imageset.yaml:5: 4.18.99 is not in channel stable-4.20 for amd64: name what is next to it there, 4.18.2 and 4.19.1",
		},
		{
			"two of them", "{name: stable-4.20, minVersion: 4.17.5, maxVersion: 4.18.99}",
			"imageset.yaml:5: 4.17.5 is not in channel stable-4.20 for amd64: name what is next to it there, 4.18.1\n" +
				"imageset.yaml:5: 4.18.99 is not in channel stable-4.20 for amd64: name what is next to it there, 4.18.2 and 4.19.1",
		},
		{
			"a cluster's version", "{name: stable-4.20, from: [4.18.1, 4.19.9]}",
			"imageset.yaml:5: 4.19.9 is not in channel stable-4.20 for amd64; stable-4.19 has it: take it of that channel, or name what is next to it here, 4.19.3 and 4.20.0",
		},
		{
			"no path", "{name: stable-4.20, from: [4.19.1, 4.19.2], maxVersion: 4.19.3}",
			"imageset.yaml:5: channel stable-4.20 for amd64: no updates lead from 4.19.2 to 4.19.3: no release above it leads there, and it gets to 4.20.0, and at most to 4.20.1, without risks to accept",
		},
		{
			"a path that nobody is recommended", "{name: stable-4.20, from: [4.20.1]}",
			"imageset.yaml:5: channel stable-4.20 for amd64: 4.20.1 does not get to 4.20.2 as it should: of its best path 4.20.1 -> 4.20.2, " +
				"these risks apply to every cluster: Ever; accept them by name or choose another target: ",
		},
		{
			"a path that is forbidden", "{name: stable-4.20, minVersion: 4.18.2, maxVersion: 4.19.1, shortestPath: true, risks: {forbid: [Sometimes]}}",
			"these risks are forbidden: Sometimes; forbid them no longer or choose another target",
		},
		{"no path of the range", "{name: stable-4.20, minVersion: 4.19.2, maxVersion: 4.19.3, shortestPath: true}", "no updates lead from 4.19.2 to 4.19.3"},
	} {
		c, err := chooseFrom(t, testServices(t), "    channels: ["+tc.channel+"]\n")
		switch {
		case err == nil:
			t.Errorf("%s: chose %s", tc.name, versionsOf(c))
		case !strings.Contains(err.Error(), tc.want):
			t.Errorf("%s:\n%v\nwant\n%s", tc.name, err, tc.want)
		case !errors.As(err, new(*InputError)) && tc.name != "an unknown channel":
			t.Errorf("%s: %T is no mistake of the configuration", tc.name, err)
		}
	}
}

// A range is taken though nothing leads through it, which is said.
func TestARangeWithoutAPathIsNoted(t *testing.T) {
	t.Parallel()
	c, err := chooseFrom(t, testServices(t), "    channels: [{name: stable-4.20, minVersion: 4.19.2, maxVersion: 4.19.3, risks: {accept: [Sometime]}}]\n")
	if err != nil || versionsOf(c) != "4.19.2 4.19.3" {
		t.Fatalf("%v, %v", c, err)
	}
	want := []string{
		`imageset.yaml:5: no update of channel stable-4.20 has the risk "Sometime"; did you mean "Sometimes"?`,
		"channel stable-4.20 for amd64: no updates lead from 4.19.2 to 4.19.3: no release above it leads there, and it gets to 4.20.0, and at most to 4.20.1, without risks to accept",
	}
	if diff := cmp.Diff(want, c.notes); diff != "" {
		t.Error(diff)
	}
}

// A misspelt name of a risk that is forbidden lets the risk pass, of which somebody has
// to be warned; one that an update of any architecture has is none.
func TestUnknownRisks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		risks, arches string
		warnings      []string
	}{
		{"forbid: [Sometimes, Ever]", "[amd64]", nil},
		{"accept: [Sometime], forbid: [Evre]", "[amd64]", []string{
			`imageset.yaml:6: no update of channel stable-4.20 has the risk "Evre", so that forbidding it (risks.forbid) keeps no update away; did you mean "Ever"?`,
		}},
		{"forbid: [GoneFromHere]", "[amd64]", []string{
			`imageset.yaml:6: no update of channel stable-4.20 has the risk "GoneFromHere", so that forbidding it (risks.forbid) keeps no update away; look whether it is spelt as in the graph: gantry list releases names the risks of a path`,
		}},
		{"forbid: [Sometimes]", "[arm64, amd64]", nil},
	} {
		c, err := chooseFrom(t, testServices(t), "    architectures: "+tc.arches+"\n    channels: [{name: stable-4.20, risks: {"+tc.risks+"}}]\n")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.warnings, c.warnings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.risks, diff)
		}
		for _, text := range tc.warnings {
			if !slices.Contains(c.notes, text) {
				t.Errorf("%s: the notes are %q", tc.risks, c.notes)
			}
		}
	}
}

// Channels that have one version with two payloads cannot be mirrored together.
func TestOnePayloadToAName(t *testing.T) {
	t.Parallel()
	s := testServices(t)
	nodes := []graph.Node{{Version: semver.MustParse("4.20.2"), Payload: payloadOf("another")}}
	g, err := graph.New(nodes, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s["ocp fast-4.20 amd64"] = g
	_, err = chooseFrom(t, s, "    channels: [{name: stable-4.20}, {name: fast-4.20}]\n")
	if err == nil || !strings.Contains(err.Error(), "release 4.20.2-x86_64 is "+payloadOf("4.20.2")+" in channel stable-4.20 and "+payloadOf("another")+" in channel fast-4.20") {
		t.Error(err)
	}
}

// A release whose payload is blocked is none: heads, ranges and paths do without.
func TestBlockedPayloads(t *testing.T) {
	t.Parallel()
	block := func(stanza, versions string) (*choice, error) {
		text := stanza + "  blockedImages:\n"
		for v := range strings.FieldsSeq(versions) {
			text += "  - name: " + digest.FromString(v).Encoded()[:12] + "\n"
		}
		return chooseFrom(t, testServices(t), text)
	}
	c, err := block("    channels: [{name: stable-4.20}]\n", "4.20.2")
	if err != nil || versionsOf(c) != "4.20.1" || !strings.Contains(strings.Join(c.notes, " "), "channel stable-4.20 for amd64 is without what blockedImages leaves out: 4.20.2 (") {
		t.Errorf("the head: %v, %v", c, err)
	}
	c, err = block("    channels: [{name: stable-4.20, from: [4.18.1]}]\n", "4.19.3 4.20.2")
	if err != nil || pathsOf(c)[0] != "4.18.1 4.19.1 4.19.2 4.20.0 4.20.1" {
		t.Errorf("a path: %v, %v", c, err)
	}
	if _, err = block("    channels: [{name: stable-4.20, maxVersion: 4.19.3}]\n", "4.19.3"); err == nil ||
		!strings.Contains(err.Error(), "4.19.3 of channel stable-4.20 for amd64 is left out by blockedImages (") {
		t.Errorf("a release that is asked for: %v", err)
	}
	_, err = chooseFrom(t, testServices(t), "    channels: [{name: stable-4.20}]\n  blockedImages: [{name: '^openshift/release-images$'}]\n")
	if err == nil || !strings.Contains(err.Error(), "blockedImages leaves out every release of channel stable-4.20 for amd64") {
		t.Errorf("all: %v", err)
	}
}
