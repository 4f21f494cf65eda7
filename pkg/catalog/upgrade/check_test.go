package upgrade_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// content returns a catalog of the package "p". Lines are channels, as "NAME: ENTRY ...", where an
// entry is BUNDLE<REPLACES~SKIPRANGE, or properties of a bundle, as "BUNDLE=JSON,JSON". A bundle
// p.v1.2.3 has the version after the v.
func content(t *testing.T, lines ...string) *catalog.Catalog {
	t.Helper()
	properties := map[string]string{}
	var channels, names []string
	for _, line := range lines {
		if name, more, ok := strings.Cut(line, "="); ok && !strings.Contains(line, ": ") {
			properties[name] = "," + more
			continue
		} else if name, more, ok := strings.Cut(line, "={"); ok {
			properties[name] = ",{" + more
			continue
		}
		channel, entries, _ := strings.Cut(line, ": ")
		var list []string
		for entry := range strings.FieldsSeq(entries) {
			entry, skipRange, _ := strings.Cut(entry, "~")
			name, replaces, _ := strings.Cut(entry, "<")
			list = append(list, fmt.Sprintf(`{"name":%q,"replaces":%q,"skipRange":%q}`, name, replaces, strings.ReplaceAll(skipRange, "_", " ")))
			names = append(names, name)
		}
		channels = append(channels, fmt.Sprintf(`{"schema":"olm.channel","package":"p","name":%q,"entries":[%s]}`, channel, strings.Join(list, ",")))
	}
	text := `{"schema":"olm.package","name":"p","defaultChannel":"stable"}` + strings.Join(channels, "")
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		text += fmt.Sprintf(`{"schema":"olm.bundle","package":"p","name":%q,"image":"example.com/p@sha256:0","properties":[{"type":"olm.package","value":{"packageName":"p","version":%q}}%s]}`,
			name, strings.TrimPrefix(name, "p.v"), properties[name])
	}
	r := catalog.NewReader(catalog.Options{})
	fail.On(t, r.File("c.json", strings.NewReader(text)))
	c, err := r.Catalog()
	fail.On(t, err)
	return c
}

// keep filters package p by the operator's lines of a configuration.
func keep(t *testing.T, c *catalog.Catalog, text string) *catalog.Catalog {
	t.Helper()
	op, err := imageset.ParseOperator(fmt.Appendf(nil, "catalog: example.com/c:v1\n%s", text))
	fail.On(t, err)
	result, err := filter.Apply(c, op)
	fail.On(t, err)
	return result.Catalog
}

func classic(version, channel string) installed.Operator {
	o := installed.Operator{Generation: graph.Classic, Name: "p.v" + version, Namespace: "n", Package: "p", Bundle: "p.v" + version, Version: version}
	if channel != "" {
		o.Channels = []string{channel}
	}
	return o
}

func v1(version string, channels ...string) installed.Operator {
	return installed.Operator{Generation: graph.V1, Name: "ext", Package: "p", Bundle: "p.v" + version, Version: version, Channels: channels}
}

// format returns a result as a few lines: the outcome, then each path with its hops, blocks and
// fixes.
func format(a upgrade.Result) string {
	lines := []string{strings.TrimSpace(string(a.Outcome) + " " + a.Explanation)}
	fixes := func(all []upgrade.Fix) {
		lines = append(lines, elements.Map(all, func(m upgrade.Fix) string { return "  fix: " + m.Message })...)
	}
	for _, r := range a.Paths {
		line := fmt.Sprintf("%s/%s %s:", r.Catalog, r.Channel, r.Outcome)
		for _, h := range r.Hops {
			line += fmt.Sprintf(" %s(%s)", h.To, h.Edge)
		}
		lines = append(lines, line, "  "+r.Explanation)
		for _, h := range r.Hops {
			for _, b := range h.Blocks {
				lines = append(lines, fmt.Sprintf("  %s possible=%t: %s", b.Kind, b.Possible, b.Message))
			}
		}
		for _, b := range r.Blocks {
			lines = append(lines, fmt.Sprintf("  end %s possible=%t: %s", b.Kind, b.Possible, b.Message))
		}
		fixes(r.Fixes)
	}
	fixes(a.Fixes)
	lines = append(lines, elements.Map(a.Notes, func(note string) string { return "  note: " + note })...)
	return strings.Join(lines, "\n")
}

const chain = "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0 p.v1.3.0<p.v1.2.0"

func TestCheck(t *testing.T) {
	t.Parallel()
	long := content(t, chain, "old: p.v1.0.0 p.v1.1.0<p.v1.0.0", "lone: p.v0.1.0")
	const headsOnly = "packages: [{name: p, channels: [{name: stable}]}]"
	heads := keep(t, long, headsOnly)
	shortcut := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v2.0.0<p.v1.1.0", "side: p.v1.5.0~<1.5.0")
	both := func(kept, source *catalog.Catalog) []upgrade.Catalog {
		return []upgrade.Catalog{{Name: "c", Kept: kept, Source: source}}
	}
	tests := map[string]struct {
		operator installed.Operator
		catalogs []upgrade.Catalog
		want     []string
	}{
		"at the head": {classic("1.3.0", "stable"), both(heads, long), []string{
			"at-head", "c/stable at-head:", "  it is at the head",
		}},
		"one hop": {classic("1.2.0", "stable"), both(heads, long), []string{
			"reaches", "c/stable reaches: p.v1.3.0(replaces)", "  it reaches the head p.v1.3.0",
		}},
		"stranded": {classic("1.0.0", "stable"), both(heads, long), []string{
			"stranded", "c/stable stranded:", "  there is no upgrade path to the head p.v1.3.0",
			"  fix: keep p.v1.1.0, p.v1.2.0: add {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: stable} to installed of the catalog in the configuration, or set minVersion: 1.1.0",
		}},
		"stranded without the original": {classic("1.0.0", "stable"), both(heads, nil), []string{
			"stranded", "c/stable stranded:", "  there is no upgrade path to the head p.v1.3.0",
			"  fix: the original catalog is not available to tell which bundles are missing; add {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: stable} to installed of the catalog and plan again",
		}},
		"ahead": {classic("1.4.0", "stable"), both(heads, long), []string{
			"ahead", "c/stable ahead:", "  it is not older than p.v1.3.0, the newest bundle in the mirror for it; OLM does not change it",
		}},
		"no upgrade path in any channel": {classic("0.1.0", "stable"), both(heads, long), []string{
			"stranded", "c/stable stranded:", "  there is no upgrade path to the head p.v1.3.0; the publisher offers no update for it",
		}},
		"an upgrade path in another channel": {classic("0.9.0", "stable"), both(content(t, chain, "fast: p.v2.0.0~<2.0.0"), long), []string{
			"stranded", "c/stable stranded:", "  there is no upgrade path to the head p.v1.3.0; the publisher offers no update for it",
			"  fix: set the channel of the Subscription to one with an upgrade path: fast",
		}},
		"a channel that is not mirrored": {classic("1.0.0", "old"), both(heads, long), []string{
			"stranded", "c/old stranded:", "  it follows channel old, which is not mirrored",
			"  fix: add channel old to package p in the configuration, and {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: old} to installed of the catalog",
		}},
		"a removed channel": {classic("1.2.0", "beta"), both(heads, long), []string{
			"stranded", "c/beta stranded:", "  it follows channel beta, which is not in the publisher's catalog",
			"  fix: set the channel of the Subscription to one with an upgrade path: stable",
		}},
		"an unknown channel": {classic("1.0.0", ""), both(keep(t, long, "packages: [{name: p, channels: [{name: stable}, {name: old}]}]"), long), []string{
			"reaches",
			"c/old reaches: p.v1.1.0(replaces)", "  it reaches the head p.v1.1.0",
			"c/stable stranded:", "  there is no upgrade path to the head p.v1.3.0",
			"  fix: keep p.v1.1.0, p.v1.2.0: add {package: p, bundle: p.v1.0.0, version: 1.0.0} to installed of the catalog in the configuration, or set minVersion: 1.1.0 for channel stable, and list the other channels too",
			"  note: its channel is unknown, and it is stranded if it follows stable; add its Subscription to the input",
		}},
		"OLM v1 stranded": {v1("1.0.0"), both(heads, long), []string{
			"stranded", "c/ stranded:", "  there is no upgrade path to the head p.v1.3.0",
			"  fix: keep p.v1.1.0, p.v1.2.0: add {package: p, bundle: p.v1.0.0, version: 1.0.0} to installed of the catalog in the configuration, or set minVersion: 1.1.0",
		}},
		"OLM v1 with pinned versions": {v1("1.0.0"), both(shortcut, shortcut), []string{
			"by-hand", "c/ by-hand: p.v1.1.0(replaces) p.v2.0.0(replaces)",
			"  it stops at p.v1.5.0: OLM v1 chooses the highest version that it finds, and no upgrade path leads from there to the head p.v2.0.0",
			"  fix: set spec.source.catalog.version of the ClusterExtension ext to these versions, one after the other: 1.1.0, 2.0.0",
		}},
		"OLM v1 in a channel": {v1("1.0.0", "stable"), both(shortcut, shortcut), []string{
			"reaches", "c/ reaches: p.v1.1.0(replaces) p.v2.0.0(replaces)", "  it reaches the head p.v2.0.0",
		}},
		"OLM v1 ahead, not in the catalog": {v1("1.4.0"), both(heads, long), []string{
			"ahead", "c/ ahead:", "  it is not older than p.v1.3.0, the newest bundle in the mirror for it; OLM does not change it; the catalog does not have it, so OLM v1 reports that it finds no bundle",
		}},
		"OLM v1 without an upgrade path": {v1("0.1.0"), both(heads, long), []string{
			"stranded", "c/ stranded:", "  there is no upgrade path to the head p.v1.3.0; the publisher offers no update for it",
			"  fix: reinstall it, or set upgradeConstraintPolicy: SelfCertified in the ClusterExtension ext if the publisher says that it is safe",
		}},
		"OLM v1 without the channel": {v1("1.0.0", "old"), both(heads, long), []string{
			"stranded", "c/ stranded:", "  the mirror has no bundle in channel old, to which the ClusterExtension is limited",
			"  fix: add channel old to package p in the configuration, and {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: old} to installed of the catalog",
		}},
		"two catalogs": {v1("1.2.0"), []upgrade.Catalog{{Name: "a", Kept: keep(t, long, "packages: [{name: p, channels: [{name: lone}]}]"), Source: long}, {Name: "b", Kept: heads, Source: long}}, []string{
			"reaches", "b/ reaches: p.v1.3.0(replaces)", "  it reaches the head p.v1.3.0",
			"a/ ahead:", "  it is not older than p.v0.1.0, the newest bundle in the mirror for it; OLM does not change it; the catalog does not have it, so OLM v1 reports that it finds no bundle",
		}},
		"not mirrored": {installed.Operator{Generation: graph.Classic, Package: "q", Bundle: "q.v1", Version: "1.0.0"}, both(heads, content(t, `stable: p.v1.0.0`)), []string{
			"elsewhere no catalog of the configuration has package q, so it gets no updates from the mirror",
		}},
		"excluded package": {classic("1.0.0", "stable"), []upgrade.Catalog{{Name: "c", Kept: &catalog.Catalog{}, Source: &catalog.Catalog{Outlines: long.Packages}}}, []string{
			"not-mirrored package p is not mirrored, so it gets no updates",
			"  fix: add package p to catalog c in the configuration, and {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: stable} to its installed",
		}},
		"an unknown package": {installed.Operator{Generation: graph.Classic, Bundle: "x"}, both(heads, long), []string{
			"unknown its package is unknown, so its upgrade path cannot be checked",
		}},
		"a version from the original catalog": {installed.Operator{Generation: graph.Classic, Package: "p", Bundle: "p.v1.2.0", Channels: []string{"stable"}}, both(heads, long), []string{
			"reaches", "c/stable reaches: p.v1.3.0(replaces)", "  it reaches the head p.v1.3.0",
		}},
		"a version from the name": {installed.Operator{Generation: graph.Classic, Package: "p", Bundle: "p.v1.9.0", Channels: []string{"stable"}}, both(heads, long), []string{
			"ahead", "c/stable ahead:", "  it is not older than p.v1.3.0, the newest bundle in the mirror for it; OLM does not change it",
			"  note: its version 1.9.0 was taken from its name",
		}},
		"no version": {installed.Operator{Generation: graph.Classic, Package: "p", Bundle: "p", Channels: []string{"stable"}}, both(heads, long), []string{
			"unknown its installed version is unknown; add its ClusterServiceVersion to the input",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checked(t, []installed.Operator{test.operator}, test.catalogs, upgrade.Options{})
			fail.Diff(t, test.want, strings.Split(format(r.Operators[0]), "\n"))
			stranded := len(r.WithOutcome(upgrade.Stranded, upgrade.NotMirrored)) > 0
			if want := strings.HasPrefix(test.want[0], "stranded") || strings.HasPrefix(test.want[0], "not-mirrored"); stranded != want {
				t.Errorf("stranded: %t, want %t", stranded, want)
			}
		})
	}
}

func TestCheckRange(t *testing.T) {
	t.Parallel()
	c := content(t, chain)
	pinned, certified := v1("1.1.0"), v1("1.0.0")
	pinned.Range = "~1.2"
	certified.SelfCertified = true
	broken := v1("1.0.0")
	broken.Range = "one"
	r := checked(t, []installed.Operator{pinned, certified, broken}, []upgrade.Catalog{{Name: "c", Kept: c}}, upgrade.Options{})
	got := elements.Map(r.Operators, format)
	want := []string{
		"reaches\nc/ reaches: p.v1.2.0(replaces)\n  it reaches the head p.v1.2.0",
		"reaches\nc/ reaches: p.v1.3.0()\n  it reaches the head p.v1.3.0",
		"stranded\nc/ stranded:\n  desired version range \"one\" is invalid: improper constraint: \"one\"",
	}
	fail.Diff(t, want, got)
}

func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	c := content(t, chain)
	r := checked(t, []installed.Operator{classic("1.2.0", "stable")}, []upgrade.Catalog{{Name: "c", Kept: c}}, upgrade.Options{ClusterVersion: "4.19.3"})
	got, err := json.Marshal(r)
	fail.On(t, err)
	want := `{"clusterVersion":"4.19.3","kubernetes":"1.32","operators":[{"origin":"","package":"p","namespace":"n","bundle":"p.v1.2.0","version":"1.2.0","generation":"OLM classic","channels":["stable"],"outcome":"reaches",` +
		`"routes":[{"catalog":"c","channel":"stable","head":"p.v1.3.0","outcome":"reaches","hops":[{"channel":"stable","from":"p.v1.2.0","to":"p.v1.3.0","edge":"replaces"}],"why":"it reaches the head p.v1.3.0"}]}]}`
	fail.Diff(t, want, string(got))
	if _, err := upgrade.Check(nil, nil, upgrade.Options{ClusterVersion: "new"}); err == nil {
		t.Error("an invalid version gives no error")
	}
}
