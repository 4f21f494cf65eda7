package upgrade_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// content is a catalog of the package "p". Its lines are channels, as "NAME:
// ENTRY ...", where an entry is BUNDLE<REPLACES~SKIPRANGE, or properties of a
// bundle, as "BUNDLE=JSON,JSON". A bundle p.v1.2.3 has the version behind the v.
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
	if err := r.File("c.json", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	c, err := r.Catalog()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// keep filters package p by lines of a package in a configuration.
func keep(t *testing.T, c *catalog.Catalog, text string) *catalog.Catalog {
	t.Helper()
	op, err := imageset.ParseOperator(fmt.Appendf(nil, "catalog: example.com/c:v1\n%s", text))
	if err != nil {
		t.Fatal(err)
	}
	result, err := filter.Apply(c, op)
	if err != nil {
		t.Fatal(err)
	}
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

// say is an answer in a few lines: the outcome, and for each route what it is
// about.
func say(a upgrade.Answer) string {
	lines := []string{strings.TrimSpace(string(a.Outcome) + " " + a.Why)}
	mends := func(all []upgrade.Mend) {
		for _, m := range all {
			lines = append(lines, "  mend: "+m.Message)
		}
	}
	for _, r := range a.Routes {
		line := fmt.Sprintf("%s/%s %s:", r.Catalog, r.Channel, r.Outcome)
		for _, h := range r.Hops {
			line += fmt.Sprintf(" %s(%s)", h.To, h.Edge)
		}
		lines = append(lines, line, "  "+r.Why)
		for _, h := range r.Hops {
			for _, b := range h.Blocks {
				lines = append(lines, fmt.Sprintf("  %s may=%t: %s", b.Kind, b.May, b.Message))
			}
		}
		for _, b := range r.Blocks {
			lines = append(lines, fmt.Sprintf("  end %s may=%t: %s", b.Kind, b.May, b.Message))
		}
		mends(r.Mends)
	}
	mends(a.Mends)
	for _, note := range a.Notes {
		lines = append(lines, "  note: "+note)
	}
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
			"at-head", "c/stable at-head:", "  it runs the head",
		}},
		"one hop": {classic("1.2.0", "stable"), both(heads, long), []string{
			"reaches", "c/stable reaches: p.v1.3.0(replaces)", "  it gets to the head p.v1.3.0",
		}},
		"stranded": {classic("1.0.0", "stable"), both(heads, long), []string{
			"stranded", "c/stable stranded:", "  there is no update for it that leads to the head p.v1.3.0",
			"  mend: keep p.v1.1.0, p.v1.2.0: add {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: stable} to installed of the catalog in the configuration, or set minVersion: 1.1.0",
		}},
		"stranded without the original": {classic("1.0.0", "stable"), both(heads, nil), []string{
			"stranded", "c/stable stranded:", "  there is no update for it that leads to the head p.v1.3.0",
			"  mend: the original of the catalog is not at hand to say what is missing; plan again with {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: stable} in installed of the catalog",
		}},
		"ahead": {classic("1.4.0", "stable"), both(heads, long), []string{
			"ahead", "c/stable ahead:", "  it is not older than p.v1.3.0, the newest that the mirror has for it; it is left alone",
		}},
		"no way at all": {classic("0.1.0", "stable"), both(heads, long), []string{
			"stranded", "c/stable stranded:", "  there is no update for it that leads to the head p.v1.3.0; the publisher offers no update from it there",
		}},
		"no way here": {classic("0.9.0", "stable"), both(content(t, chain, "fast: p.v2.0.0~<2.0.0"), long), []string{
			"stranded", "c/stable stranded:", "  there is no update for it that leads to the head p.v1.3.0; the publisher offers no update from it there",
			"  mend: set the channel of the Subscription to one that leads on: fast",
		}},
		"a channel that is left out": {classic("1.0.0", "old"), both(heads, long), []string{
			"stranded", "c/old stranded:", "  the mirror leaves out channel old, which it follows",
			"  mend: add channel old to package p in the configuration, and {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: old} to installed of the catalog",
		}},
		"a channel that is gone": {classic("1.2.0", "beta"), both(heads, long), []string{
			"stranded", "c/beta stranded:", "  it follows channel beta, which the publisher does not have (any more)",
			"  mend: set the channel of the Subscription to one that leads on: stable",
		}},
		"a channel that is not known": {classic("1.0.0", ""), both(keep(t, long, "packages: [{name: p, channels: [{name: stable}, {name: old}]}]"), long), []string{
			"reaches",
			"c/old reaches: p.v1.1.0(replaces)", "  it gets to the head p.v1.1.0",
			"c/stable stranded:", "  there is no update for it that leads to the head p.v1.3.0",
			"  mend: keep p.v1.1.0, p.v1.2.0: add {package: p, bundle: p.v1.0.0, version: 1.0.0} to installed of the catalog in the configuration, or set minVersion: 1.1.0 of channel stable, with the other channels named beside it",
			"  note: the channel that it follows is not known, and it is stranded if that is stable; give its Subscription, too",
		}},
		"OLM v1 stranded": {v1("1.0.0"), both(heads, long), []string{
			"stranded", "c/ stranded:", "  there is no update for it that leads to the head p.v1.3.0",
			"  mend: keep p.v1.1.0, p.v1.2.0: add {package: p, bundle: p.v1.0.0, version: 1.0.0} to installed of the catalog in the configuration, or set minVersion: 1.1.0",
		}},
		"OLM v1 by hand": {v1("1.0.0"), both(shortcut, shortcut), []string{
			"by-hand", "c/ by-hand: p.v1.1.0(replaces) p.v2.0.0(replaces)",
			"  by itself it gets no further than p.v1.5.0: OLM v1 takes the highest version that it finds, and from there none leads to the head p.v2.0.0",
			"  mend: set spec.source.catalog.version of the ClusterExtension ext to one after the other of: 1.1.0, 2.0.0",
		}},
		"OLM v1 in a channel": {v1("1.0.0", "stable"), both(shortcut, shortcut), []string{
			"reaches", "c/ reaches: p.v1.1.0(replaces) p.v2.0.0(replaces)", "  it gets to the head p.v2.0.0",
		}},
		"OLM v1 ahead and gone": {v1("1.4.0"), both(heads, long), []string{
			"ahead", "c/ ahead:", "  it is not older than p.v1.3.0, the newest that the mirror has for it; it is left alone; since the catalog does not have it, OLM v1 reports that it finds no bundle",
		}},
		"OLM v1 no way": {v1("0.1.0"), both(heads, long), []string{
			"stranded", "c/ stranded:", "  there is no update for it that leads to the head p.v1.3.0; the publisher offers no update from it there",
			"  mend: install it anew, or set upgradeConstraintPolicy: SelfCertified in the ClusterExtension ext if the publisher says that it is safe",
		}},
		"OLM v1 without the channel": {v1("1.0.0", "old"), both(heads, long), []string{
			"stranded", "c/ stranded:", "  the mirror has no bundle in channel old, to which the ClusterExtension is limited",
			"  mend: add channel old to package p in the configuration, and {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: old} to installed of the catalog",
		}},
		"two catalogs": {v1("1.2.0"), []upgrade.Catalog{{Name: "a", Kept: keep(t, long, "packages: [{name: p, channels: [{name: lone}]}]"), Source: long}, {Name: "b", Kept: heads, Source: long}}, []string{
			"reaches", "b/ reaches: p.v1.3.0(replaces)", "  it gets to the head p.v1.3.0",
			"a/ ahead:", "  it is not older than p.v0.1.0, the newest that the mirror has for it; it is left alone; since the catalog does not have it, OLM v1 reports that it finds no bundle",
		}},
		"not mirrored": {installed.Operator{Generation: graph.Classic, Package: "q", Bundle: "q.v1", Version: "1.0.0"}, both(heads, content(t, `stable: p.v1.0.0`)), []string{
			"elsewhere no catalog of the configuration has package q, so that it gets no updates from the mirror",
		}},
		"left out": {classic("1.0.0", "stable"), []upgrade.Catalog{{Name: "c", Kept: &catalog.Catalog{}, Source: &catalog.Catalog{Outlines: long.Packages}}}, []string{
			"not-mirrored the mirror leaves out package p, so that it gets no updates",
			"  mend: add package p to catalog c in the configuration, and {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: stable} to its installed",
		}},
		"a package that is not known": {installed.Operator{Generation: graph.Classic, Bundle: "x"}, both(heads, long), []string{
			"unknown its package is not known, so that nothing can be said of it",
		}},
		"a version that the original knows": {installed.Operator{Generation: graph.Classic, Package: "p", Bundle: "p.v1.2.0", Channels: []string{"stable"}}, both(heads, long), []string{
			"reaches", "c/stable reaches: p.v1.3.0(replaces)", "  it gets to the head p.v1.3.0",
		}},
		"a version in the name": {installed.Operator{Generation: graph.Classic, Package: "p", Bundle: "p.v1.9.0", Channels: []string{"stable"}}, both(heads, long), []string{
			"ahead", "c/stable ahead:", "  it is not older than p.v1.3.0, the newest that the mirror has for it; it is left alone",
			"  note: its version is not known but by its name: 1.9.0",
		}},
		"no version": {installed.Operator{Generation: graph.Classic, Package: "p", Bundle: "p", Channels: []string{"stable"}}, both(heads, long), []string{
			"unknown the version that is installed is not known: give its ClusterServiceVersion, too",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := upgrade.Check([]installed.Operator{test.operator}, test.catalogs, upgrade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, strings.Split(say(r.Operators[0]), "\n")); diff != "" {
				t.Error(diff)
			}
			stranded := len(r.Having(upgrade.Stranded, upgrade.NotMirrored)) > 0
			if want := strings.HasPrefix(test.want[0], "stranded") || strings.HasPrefix(test.want[0], "not-mirrored"); stranded != want {
				t.Errorf("somebody is stranded: %t, want %t", stranded, want)
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
	r, err := upgrade.Check([]installed.Operator{pinned, certified, broken}, []upgrade.Catalog{{Name: "c", Kept: c}}, upgrade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range r.Operators {
		got = append(got, say(a))
	}
	want := []string{
		"reaches\nc/ reaches: p.v1.2.0(replaces)\n  it gets to the head p.v1.2.0",
		"reaches\nc/ reaches: p.v1.3.0()\n  it gets to the head p.v1.3.0",
		"stranded\nc/ stranded:\n  desired version range \"one\" is invalid: improper constraint: \"one\"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	c := content(t, chain)
	r, err := upgrade.Check([]installed.Operator{classic("1.2.0", "stable")}, []upgrade.Catalog{{Name: "c", Kept: c}}, upgrade.Options{ClusterVersion: "4.19.3"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"clusterVersion":"4.19.3","kubernetes":"1.32","operators":[{"origin":"","package":"p","namespace":"n","bundle":"p.v1.2.0","version":"1.2.0","generation":"OLM classic","channels":["stable"],"outcome":"reaches",` +
		`"routes":[{"catalog":"c","channel":"stable","head":"p.v1.3.0","outcome":"reaches","hops":[{"channel":"stable","from":"p.v1.2.0","to":"p.v1.3.0","edge":"replaces"}],"why":"it gets to the head p.v1.3.0"}]}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if _, err := upgrade.Check(nil, nil, upgrade.Options{ClusterVersion: "new"}); err == nil {
		t.Error("a version that is none gives no error")
	}
}
