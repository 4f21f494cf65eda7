package graph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// pkg makes a package p with the default channel a. A channel is a line: its name, then entries
// "1.1.0:1.0.0", "1.2.0:1.1.0,skip,skip" or, with a skipRange, "1.2.0~<1.2.0". Bundles are named
// p.v and the version; a "!" before an entry deprecates the bundle.
func pkg(lines ...string) *catalog.Package {
	p := &catalog.Package{Name: "p", DefaultChannel: "a"}
	gone := &catalog.Deprecations{Package: "p"}
	for _, line := range lines {
		words := strings.Fields(line)
		ch := &catalog.Channel{Package: "p", Name: words[0]}
		for _, word := range words[1:] {
			word, deprecated := strings.CutPrefix(word, "!")
			word, within, _ := strings.Cut(word, "~")
			version, edges, _ := strings.Cut(word, ":")
			e := catalog.Entry{Name: "p.v" + version, SkipRange: strings.ReplaceAll(within, "_", " ")}
			for i, name := range strings.Split(edges, ",") {
				switch {
				case name == "":
				case i == 0:
					e.Replaces = "p.v" + name
				default:
					e.Skips = append(e.Skips, "p.v"+name)
				}
			}
			ch.Entries = append(ch.Entries, e)
			if deprecated {
				gone.Entries = append(gone.Entries, catalog.Deprecation{Schema: catalog.SchemaBundle, Name: e.Name})
			}
			if p.Bundle(e.Name) == nil {
				b := &catalog.Bundle{Package: "p", Name: e.Name}
				version, b.Release, _ = strings.Cut(version, "@")
				b.Version, b.VersionErr = semver.Parse(version)
				p.Bundles = append(p.Bundles, b)
			}
		}
		p.Channels = append(p.Channels, ch)
	}
	p.Deprecations = append(p.Deprecations, gone)
	return p
}

// at is a cluster that runs a version.
func at(version string) At {
	v, release, _ := strings.Cut(version, "@")
	return At{Name: "p.v" + version, Version: semver.MustParse(v), Release: release}
}

// steps writes hops as "channel kind version", one after the other.
func steps(hops []Hop) string {
	var words []string
	for _, h := range hops {
		words = append(words, fmt.Sprintf("%s %s %s", h.Channel, h.Edge, strings.TrimPrefix(h.To, "p.v")))
	}
	return strings.Join(words, ", ")
}

func TestWalk(t *testing.T) {
	deprecatedProperty := pkg("a 1.0.0 1.1.0:1.0.0 1.2.0:1.1.0,1.0.0")
	deprecatedProperty.Bundle("p.v1.2.0").Properties = []catalog.Property{{Type: "olm.deprecated", Value: []byte("{}")}}
	unreadable := pkg("a 1.0.0 one:1.0.0")
	for _, tc := range []struct {
		name     string
		p        *catalog.Package
		at       At
		channels []string
		classic  string
		v1       string
	}{
		{"nothing", &catalog.Package{}, at("1.0.0"), nil, "", ""},
		{
			"a chain", pkg("a 1.0.0 1.1.0:1.0.0 1.2.0:1.1.0"), at("1.0.0"), nil,
			"a replaces 1.1.0, a replaces 1.2.0", "a replaces 1.1.0, a replaces 1.2.0",
		},
		{
			"from what the catalog does not have", pkg("a 1.1.0:1.0.0 1.2.0:1.1.0"), at("1.0.0"), nil,
			"a replaces 1.1.0, a replaces 1.2.0", "a replaces 1.1.0, a replaces 1.2.0",
		},
		{"at the head", pkg("a 1.0.0 1.1.0:1.0.0"), at("1.1.0"), nil, "", ""},
		{
			"the highest that leads on", pkg("a 1.0.0 1.1.0:1.0.0 1.2.0:1.1.0~>=1.0.0_<1.2.0"), at("1.0.0"), nil,
			"a skipRange 1.2.0", "a skipRange 1.2.0",
		},
		{
			"the kind is the first that holds", pkg("a 1.0.0 1.1.0:1.0.0,1.0.0~<1.1.0"), at("1.0.0"), nil,
			"a replaces 1.1.0", "a replaces 1.1.0",
		},
		{
			"a skipped entry is no update in OLM classic", pkg("a 1.0.0 1.1.0:1.0.0 1.2.0:0.9.0,1.1.0,1.0.0 1.3.0:1.2.0"), at("0.9.9"), nil,
			"", "",
		},
		{
			"it is one in OLM v1, which goes on from there", pkg("a 1.0.0 1.1.0:0.9.9 1.2.0:1.0.0,1.1.0"), at("0.9.9"), nil,
			"", "a replaces 1.1.0, a skips 1.2.0",
		},
		{
			"from a skipped one", pkg("a 1.0.0 1.1.0:1.0.0 1.2.0:1.0.0,1.1.0"), at("1.1.0"), nil,
			"a skips 1.2.0", "a skips 1.2.0",
		},
		{
			"an invalid skipRange is no edge", pkg("a 1.0.0 1.1.0~<v1.1.0"), at("1.0.0"), nil,
			"", "",
		},
		{
			"default channel first, then by name; OLM v1 the highest",
			pkg("b 1.4.0:1.0.0", "a 1.0.0 1.1.0:1.0.0", "c 1.2.0:1.1.0 1.3.0:1.2.0"), at("1.0.0"), nil,
			"a replaces 1.1.0, c replaces 1.2.0, c replaces 1.3.0", "b replaces 1.4.0",
		},
		{
			"one channel", pkg("b 1.4.0:1.0.0", "a 1.0.0 1.1.0:1.0.0"), at("1.0.0"), []string{"b"},
			"b replaces 1.4.0", "b replaces 1.4.0",
		},
		{
			"an empty name is any channel", pkg("b 1.4.0:1.0.0", "a 1.0.0 1.1.0:1.0.0"), at("1.0.0"), []string{""},
			"a replaces 1.1.0", "b replaces 1.4.0",
		},
		{"a missing channel", pkg("a 1.0.0 1.1.0:1.0.0"), at("1.0.0"), []string{"x"}, "", ""},
		{
			"two channels that lead in a circle", pkg("a 1.0.0:1.1.0", "b 1.1.0:1.0.0"), at("1.0.0"), nil,
			"b replaces 1.1.0", "b replaces 1.1.0",
		},
		{
			"two heads: OLM classic resolves nothing", pkg("a 1.0.0 1.1.0:1.0.0 1.2.0:1.0.0"), at("1.0.0"), nil,
			"", "a replaces 1.2.0",
		},
		{
			"a circle of replaces", pkg("a 1.0.0:1.1.0 1.1.0:1.0.0 1.2.0:1.1.0"), at("1.0.0"), nil,
			"", "a replaces 1.1.0, a replaces 1.2.0",
		},
		{
			"OLM v1 never updates to a lower version that replaces it; a chain need not be in order",
			pkg("a 1.17.5 0.0.1:1.17.5 1.17.7:0.0.1"), at("1.17.5"), nil,
			"a replaces 0.0.1, a replaces 1.17.7", "",
		},
		{
			"unless the installed bundle is not in the catalog",
			pkg("a 0.0.1:1.17.5 1.17.7:0.0.1"), at("1.17.5"), nil,
			"a replaces 0.0.1, a replaces 1.17.7", "a replaces 0.0.1, a replaces 1.17.7",
		},
		{
			"a deprecated successor counts below the rest", pkg("a 1.0.0 1.1.0:1.0.0 !1.2.0:1.1.0,1.0.0"), at("0.9.0"), nil,
			"", "",
		},
		{
			"and below what is installed", pkg("a 1.0.0 !1.1.0:1.0.0"), at("1.0.0"), nil,
			"a replaces 1.1.0", "",
		},
		{
			"but not below what is deprecated itself, or gone", pkg("a !1.0.0 !1.1.0:1.0.0"), at("1.0.0"), nil,
			"a replaces 1.1.0", "a replaces 1.1.0",
		},
		{
			"a lower version rather than a deprecated one", pkg("a 1.1.0:1.0.0 !1.2.0:1.1.0,1.0.0"), at("1.0.0"), nil,
			"a skips 1.2.0", "a replaces 1.1.0",
		},
		{
			"build metadata is a release", pkg("a 1.0.0 1.0.0+1:1.0.0 1.0.0+2:1.0.0+1,1.0.0"), at("1.0.0"), nil,
			"a skips 1.0.0+2", "a skips 1.0.0+2",
		},
		{
			"or none, and then no order", pkg("a 1.0.0+01:0.9.0 1.0.0+02:1.0.0+01"), at("1.0.0+01"), nil,
			"a replaces 1.0.0+02", "",
		},
		{
			"a release of its own", pkg("a 1.0.0@1 1.0.0@2:1.0.0@1 1.0.0@10:1.0.0@2"), at("1.0.0@1"), nil,
			"a replaces 1.0.0@2, a replaces 1.0.0@10", "a replaces 1.0.0@2, a replaces 1.0.0@10",
		},
		{"olm.deprecated", deprecatedProperty, at("1.0.0"), nil, "a replaces 1.1.0", "a skips 1.2.0"},
		{"a bundle without a version", unreadable, at("1.0.0"), nil, "", ""},
		{
			"a version alone is led on by ranges", pkg("a 1.0.0 1.1.0:1.0.0~<1.1.0"), At{Version: semver.MustParse("0.5.0")}, nil,
			"a skipRange 1.1.0", "a skipRange 1.1.0",
		},
		{
			"a range that takes in the bundle itself", pkg("a 1.0.0 1.1.0:1.0.0~<=1.1.0"), at("1.1.0"), nil, "", "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for gen, want := range map[Generation]string{Classic: tc.classic, V1: tc.v1} {
				v := View{Generation: gen, Channels: tc.channels}
				hops := NewUpdates(tc.p, v).Walk(tc.at)
				if diff := cmp.Diff(want, steps(hops)); diff != "" {
					t.Errorf("%s: %s", gen, diff)
				}
				hop, ok := NewUpdates(tc.p, v).Step(tc.at)
				if ok != (len(hops) > 0) || ok && hop != hops[0] {
					t.Errorf("%s: Step is %v, %v", gen, hop, ok)
				}
			}
		})
	}
}

func TestWalkAccepts(t *testing.T) {
	p := pkg("a 1.0.0 1.1.0:1.0.0 1.2.0:1.1.0,1.0.0 1.3.0:1.1.0,1.2.0,1.0.0")
	below := func(max string) func(*catalog.Bundle) bool {
		return func(b *catalog.Bundle) bool { return b.Version.LT(semver.MustParse(max)) }
	}
	for _, tc := range []struct{ max, classic, v1 string }{
		{"2.0.0", "a skips 1.3.0", "a skips 1.3.0"},
		// 1.2.0 is skipped, which OLM v1 ignores.
		{"1.3.0", "a replaces 1.1.0", "a skips 1.2.0"},
		{"1.1.0", "", ""},
	} {
		for gen, want := range map[Generation]string{Classic: tc.classic, V1: tc.v1} {
			fail.Diff(t, want, steps(NewUpdates(p, View{Generation: gen, Accept: below(tc.max)}).Walk(at("1.0.0"))))
		}
	}
	// OLM v1 stays at the installed bundle only if that is accepted, too.
	p = pkg("a 1.17.5 0.0.1:1.17.5")
	fail.Diff(t, "a replaces 0.0.1", steps(NewUpdates(p, View{Generation: V1, Accept: below("1.0.0")}).Walk(at("1.17.5"))))
}

func TestReachable(t *testing.T) {
	p := pkg("a 1.17.5 0.0.1:1.17.5 1.17.7:0.0.1 1.18.0:1.17.7", "b 1.17.7:1.17.5", "c 1.20.0:1.19.0")
	for _, tc := range []struct {
		gen       Generation
		channel   string
		to        string
		automatic string
		any       string
	}{
		{Classic, "a", "1.17.7", "a replaces 0.0.1, a replaces 1.17.7", "a replaces 0.0.1, a replaces 1.17.7"},
		{V1, "a", "1.17.7", "no", "a replaces 0.0.1, a replaces 1.17.7"},
		{V1, "", "1.18.0", "b replaces 1.17.7, a replaces 1.18.0", "b replaces 1.17.7, a replaces 1.18.0"},
		{Classic, "", "1.18.0", "a replaces 0.0.1, a replaces 1.17.7, a replaces 1.18.0", "b replaces 1.17.7, a replaces 1.18.0"},
		{V1, "", "0.0.1", "no", "a replaces 0.0.1"},
		{V1, "", "1.20.0", "no", "no"},
		{Classic, "", "1.17.5", "", ""},
		{Classic, "", "x", "no", "no"},
	} {
		for mode, want := range map[Mode]string{Automatic: tc.automatic, AnyPath: tc.any} {
			hops, ok := Reachable(p, at("1.17.5"), "p.v"+tc.to, View{Generation: tc.gen, Channels: []string{tc.channel}}, mode)
			got := steps(hops)
			if !ok {
				got = "no"
			}
			if got != want {
				t.Errorf("%s, channel %q, to %s, mode %d: %q, not %q", tc.gen, tc.channel, tc.to, mode, got, want)
			}
		}
	}
}

func TestGeneration(t *testing.T) {
	got := []string{Generation(0).String(), Classic.String(), V1.String()}
	fail.Diff(t, []string{"no generation of OLM", "OLM classic", "OLM v1"}, got)
}
