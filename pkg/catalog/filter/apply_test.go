package filter

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// summary has one line per package and channel: what was kept, each entry with its reason unless
// that is the default one, and the notes.
func summary(r *Result) string {
	var b strings.Builder
	for _, p := range r.Packages {
		fmt.Fprintf(&b, "%s, default %s", p.Name, p.DefaultChannel)
		if p.ReplacedDefault != "" {
			fmt.Fprintf(&b, " (was %s)", p.ReplacedDefault)
		}
		b.WriteByte('\n')
		for _, ch := range p.Channels {
			fmt.Fprintf(&b, "  %s:", ch.Name)
			for _, e := range ch.Entries {
				fmt.Fprintf(&b, " %s=%s", strings.TrimPrefix(e.Name, p.Name+"."), e.Reason)
				if e.For != "" {
					fmt.Fprintf(&b, "(%s)", strings.TrimPrefix(e.For, p.Name+"."))
				}
			}
			b.WriteByte('\n')
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	return b.String()
}

func at(line int) imageset.Position { return imageset.Position{File: "imageset.yaml", Line: line} }

// chain selects from the package chain.
func chain(want imageset.Package) imageset.Operator {
	want.Name, want.Pos = "chain", at(4)
	return imageset.Operator{Catalog: "c", Pos: at(3), Packages: []imageset.Package{want}}
}

func odd(want imageset.Package) imageset.Operator {
	op := chain(want)
	op.Packages[0].Name = "odd"
	return op
}

func hung(want imageset.Package) imageset.Operator {
	op := chain(want)
	op.Packages[0].Name = "hung"
	return op
}

func full(op imageset.Operator) imageset.Operator {
	op.Full = true
	return op
}

func pins(names ...string) imageset.Package {
	var p imageset.Package
	for i, name := range names {
		p.Bundles = append(p.Bundles, imageset.Bundle{Pos: at(10 + i), Name: name})
	}
	return p
}

func channels(names ...string) []imageset.Channel {
	var channels []imageset.Channel
	for i, name := range names {
		channels = append(channels, imageset.Channel{Pos: at(20 + i), Name: name})
	}
	return channels
}

func TestApply(t *testing.T) {
	c := read(t, "testdata/catalog")
	for _, tc := range []struct {
		name string
		op   imageset.Operator
		want string
	}{
		{
			"no packages: the head of every channel", imageset.Operator{Catalog: "c"}, `
chain, default stable
  fast: v2.0.0=head
  old: v1.0.0=head
  stable: v1.3.0=head
hung, default alpha
  alpha: v1.6.0=head
odd, default builds
  builds: v0.13.0=head
  fork: v1.18.0=head
  order: v1.18.0=head
`,
		},
		{
			"a package: the head of each channel", chain(imageset.Package{}), `
chain, default stable
  fast: v2.0.0=head
  old: v1.0.0=head
  stable: v1.3.0=head
`,
		},
		{
			"a full package", full(hung(imageset.Package{})), `
hung, default alpha
  alpha: v1.0.0=full v1.1.0=full v1.2.0=full v1.3.0=full v1.4.0=full v1.5.0=full v1.6.0=full
`,
		},
		{
			"named channels", chain(imageset.Package{Channels: channels("old", "stable")}), `
chain, default stable
  old: v1.0.0=head
  stable: v1.3.0=head
`,
		},
		{
			"a full channel", full(chain(imageset.Package{Channels: channels("fast"), DefaultChannel: "fast"})), `
chain, default fast (was stable)
  fast: v1.2.0=full v1.3.0-5=full v1.3.0=full v2.0.0=full
- package "chain": the default channel is "fast" instead of "stable", as configured
`,
		},
		{
			"the only channel left becomes the default", chain(imageset.Package{Channels: channels("fast")}), `
chain, default fast (was stable)
  fast: v2.0.0=head
- package "chain": its default channel "stable" is not kept; "fast", the only channel left, is the default now
`,
		},
		{
			"a range over all channels", chain(imageset.Package{Range: imageset.Range{Min: "1.2.0"}}), `
chain, default stable
  fast: v1.2.0=range v1.3.0-5=range v1.3.0=range v2.0.0=range
  stable: v1.2.0=range v1.3.0=range
- package "chain": channel "old" is left out: it has no version 1.2.0 or higher; the nearest is 1.0.0
`,
		},
		{
			"a range over the named channels", chain(imageset.Package{Channels: channels("stable", "fast"), Range: imageset.Range{Max: "1.2.5"}}), `
chain, default stable
  fast: v1.2.0=range
  stable: v1.0.0=range v1.1.0=range v1.2.0=range
- package "chain": channel "fast": its new head chain.v1.2.0 is below the original head chain.v2.0.0; clusters above the new head get no updates from this channel
- package "chain": channel "stable": its new head chain.v1.2.0 is below the original head chain.v1.3.0; clusters above the new head get no updates from this channel
`,
		},
		{
			"a range of one channel, the head of another", chain(imageset.Package{Channels: []imageset.Channel{
				{Name: "stable", Range: imageset.Range{Min: "1.1.0", Max: "1.3.0"}}, {Name: "fast"},
			}}), `
chain, default stable
  fast: v2.0.0=head
  stable: v1.1.0=range v1.2.0=range v1.3.0=range
`,
		},
		{
			"a default channel without entries in the range is replaced",
			chain(imageset.Package{Range: imageset.Range{Min: "2.0.0"}, DefaultChannel: "fast"}), `
chain, default fast (was stable)
  fast: v2.0.0=range
- package "chain": channel "old" is left out: it has no version 2.0.0 or higher; the nearest is 1.0.0
- package "chain": channel "stable" is left out: it has no version 2.0.0 or higher; the nearest is 1.3.0
- package "chain": the default channel is "fast" instead of "stable", as configured
`,
		},
		{
			"equal precedence: all of them, in the channels that have them",
			odd(imageset.Package{Range: imageset.Range{Min: "0.12.1", Max: "0.12.1"}}), `
odd, default builds
  builds: v0.12.1=range v0.12.1-0.1749=range
- package "odd": channel "builds": its new head odd.v0.12.1-0.1749 is below the original head odd.v0.13.0; clusters above the new head get no updates from this channel
- package "odd": channel "fork" is left out: it has no version 0.12.1; the nearest is 1.17.5
- package "odd": channel "order" is left out: it has no version 0.12.1; the nearest are 0.0.1 and 1.17.5
`,
		},
		{
			"a chain that is not ordered by version is kept completely",
			odd(imageset.Package{Channels: channels("order"), Range: imageset.Range{Min: "1.17.0", Max: "1.17.7"}}), `
odd, default order (was builds)
  order: v1.17.5=range v0.0.1=continuity(v1.17.5) v1.17.7=range
- package "odd": channel "order": kept in addition to the selection so that no update path breaks: odd.v0.0.1 (for odd.v1.17.5)
- package "odd": channel "order": its new head odd.v1.17.7 is below the original head odd.v1.18.0; clusters above the new head get no updates from this channel
- package "odd": its default channel "builds" is not kept; "order", the only channel left, is the default now
`,
		},
		{
			"one branch of a fork is a chain",
			odd(imageset.Package{Channels: channels("fork"), Range: imageset.Range{Max: "1.17.7"}}), `
odd, default fork (was builds)
  fork: v1.17.5=range v1.17.7=range
- package "odd": channel "fork": its new head odd.v1.17.7 is below the original head odd.v1.18.0; clusters above the new head get no updates from this channel
- package "odd": its default channel "builds" is not kept; "fork", the only channel left, is the default now
`,
		},
		{
			"bundles that only the head skips keep the head",
			hung(imageset.Package{Range: imageset.Range{Max: "1.2.0"}}), `
hung, default alpha
  alpha: v1.0.0=range v1.1.0=range v1.2.0=range v1.6.0=continuity(v1.2.0)
- package "hung": channel "alpha": kept in addition to the selection so that no update path breaks: hung.v1.6.0 (for hung.v1.2.0)
`,
		},
		{
			"a pin, in the channels that have it", chain(pins("chain.v1.3.0")), `
chain, default stable
  fast: v1.3.0=bundle
  stable: v1.3.0=bundle
- package "chain": channel "fast": its new head chain.v1.3.0 is below the original head chain.v2.0.0; clusters above the new head get no updates from this channel
- package "chain": channel "old" is left out: it has none of the pinned bundles
`,
		},
		{
			"pins that a skipRange connects", hung(pins("hung.v1.2.0", "hung.v1.3.0")), `
hung, default alpha
  alpha: v1.2.0=bundle v1.3.0=bundle
- package "hung": channel "alpha": hung.v1.3.0 now skips hung.v1.2.0, which its skipRange already covers
- package "hung": channel "alpha": its new head hung.v1.3.0 is below the original head hung.v1.6.0; clusters above the new head get no updates from this channel
`,
		},
		{
			"a range that a skipRange connects", hung(imageset.Package{Range: imageset.Range{Min: "1.1.0", Max: "1.3.0"}}), `
hung, default alpha
  alpha: v1.1.0=range v1.2.0=range v1.3.0=range
- package "hung": channel "alpha": hung.v1.3.0 now skips hung.v1.1.0, hung.v1.2.0, which its skipRange already covers
- package "hung": channel "alpha": its new head hung.v1.3.0 is below the original head hung.v1.6.0; clusters above the new head get no updates from this channel
`,
		},
		{
			"bundles that no skipRange connects keep the head", hung(imageset.Package{Range: imageset.Range{Min: "1.3.0", Max: "1.4.0"}}), `
hung, default alpha
  alpha: v1.3.0=range v1.4.0=range v1.6.0=continuity(v1.4.0)
- package "hung": channel "alpha": kept in addition to the selection so that no update path breaks: hung.v1.6.0 (for hung.v1.4.0)
`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result, err := Apply(c, tc.op)
			fail.On(t, err)
			fail.Diff(t, strings.TrimPrefix(tc.want, "\n"), summary(result))
		})
	}
}

func TestApplyUnchanged(t *testing.T) {
	c := read(t, "testdata/catalog")
	result, err := Apply(c, imageset.Operator{Catalog: "c", Full: true})
	fail.On(t, err)
	if !result.Unchanged || result.Catalog != c || len(result.Notes) > 0 {
		t.Errorf("the catalog was changed: %+v", result)
	}
	if len(result.Packages) != 3 || result.Packages[1].Bundles[0] != (Bundle{Name: "hung.v1.0.0", Version: "1.0.0", Reason: Full}) {
		t.Errorf("summary %+v", result.Packages)
	}
}

func TestApplyErrors(t *testing.T) {
	c := read(t, "testdata/catalog")
	for _, tc := range []struct {
		name string
		op   imageset.Operator
		want []string
	}{
		{
			"every problem, in the order of the file",
			imageset.Operator{Catalog: "c", Packages: []imageset.Package{
				{Pos: at(4), Name: "odd", Channels: []imageset.Channel{{Pos: at(6), Name: "ordre"}, {Pos: at(7), Name: "x"}}},
				{Pos: at(9), Name: "chian"},
				{Pos: at(11), Name: "chain", Bundles: []imageset.Bundle{{Pos: at(12), Name: "chain.v1.3.1"}}},
				{Pos: at(14), Name: "zzz"},
			}},
			[]string{
				`imageset.yaml:6: package "odd" has no channel "ordre"; did you mean "order"?`,
				`imageset.yaml:7: package "odd" has no channel "x"; it has builds, fork, order`,
				`imageset.yaml:9: package "chian" is not in the catalog; did you mean "chain"?`,
				`imageset.yaml:12: package "chain" has no bundle "chain.v1.3.1"; did you mean "chain.v1.3.0", "chain.v1.0.0" or "chain.v1.1.0"?`,
				`imageset.yaml:14: package "zzz" is not in the catalog`,
			},
		},
		{
			"no version in the range", chain(imageset.Package{Range: imageset.Range{Min: "1.3.1", Max: "1.9.0"}}),
			[]string{`imageset.yaml:4: package "chain" has no version between 1.3.1 and 1.9.0; the nearest are 1.3.0 and 2.0.0`},
		},
		{
			"no version of 1.4", chain(imageset.Package{Range: imageset.Range{Min: "1.4.0", Max: "1.4.999999999999999"}}),
			[]string{`imageset.yaml:4: package "chain" has no version between 1.4.0 and 1.4; the nearest are 1.3.0 and 2.0.0`},
		},
		{
			"no such version", chain(imageset.Package{Range: imageset.Range{Min: "2.0.1", Max: "2.0.1"}}),
			[]string{`imageset.yaml:4: package "chain" has no version 2.0.1; the nearest is 2.0.0`},
		},
		{
			"a named channel without a version in its range",
			chain(imageset.Package{Channels: []imageset.Channel{{Pos: at(6), Name: "old", Range: imageset.Range{Min: "1.1.0"}}, {Pos: at(7), Name: "stable"}}}),
			[]string{`imageset.yaml:6: package "chain": channel "old" has no version 1.1.0 or higher; the nearest is 1.0.0`},
		},
		{
			"the default channel is not kept", chain(imageset.Package{Channels: channels("fast", "old")}),
			[]string{`imageset.yaml:4: package "chain": its default channel "stable" is not kept; set defaultChannel to one of fast, old`},
		},
		{
			"a default channel that is not kept", chain(imageset.Package{Channels: channels("fast"), DefaultChannel: "old"}),
			[]string{`imageset.yaml:4: package "chain": its defaultChannel "old" is not among the channels that are kept; choose fast`},
		},
		{
			"a default channel that does not exist", chain(imageset.Package{DefaultChannel: "stabel"}),
			[]string{`imageset.yaml:4: package "chain" has no channel "stabel" for its defaultChannel; did you mean "stable"?`},
		},
		{
			"pins with a gap", chain(pins("chain.v1.1.0", "chain.v2.0.0", "chain.v1.3.0-5")),
			[]string{`imageset.yaml:11: package "chain": the pinned bundles chain.v1.3.0-5, chain.v2.0.0 alone do not form a valid channel "fast"; also pin chain.v1.3.0, or select a range of versions`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result, err := Apply(c, tc.op)
			var wrong *SelectionError
			if result != nil || !errors.As(err, &wrong) {
				t.Fatalf("result %v, error %v", result, err)
			}
			var got []string
			for _, p := range wrong.Problems {
				got = append(got, p.String())
				if !strings.Contains(err.Error(), p.String()) {
					t.Errorf("%q does not contain %q", err, p)
				}
			}
			fail.Diff(t, tc.want, got)
		})
	}
}
