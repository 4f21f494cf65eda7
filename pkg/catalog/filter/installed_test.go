package filter

import (
	"errors"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// runs adds installed operators of the package to a selection: a bundle, or a version after "=",
// optionally followed by a blank and the channel.
func runs(op imageset.Operator, installed ...string) imageset.Operator {
	for i, in := range installed {
		in, channel, _ := strings.Cut(in, " ")
		bundle, version, _ := strings.Cut(in, "=")
		op.Installed = append(op.Installed, imageset.Installed{
			Pos: at(30 + i), Package: op.Packages[0].Name, Bundle: bundle, Version: version, Channel: channel,
		})
	}
	return op
}

func TestApplyInstalled(t *testing.T) {
	c := read(t, "testdata/catalog")
	for _, tc := range []struct {
		name string
		op   imageset.Operator
		want string
	}{
		{
			"the shortest path to each head",
			runs(chain(imageset.Package{}), "chain.v1.1.0"), `
chain, default stable
  fast: v1.2.0=installed(v1.1.0) v1.3.0-5=installed(v1.1.0) v1.3.0=installed(v1.1.0) v2.0.0=head
  old: v1.0.0=head
  stable: v1.1.0=installed(v1.1.0) v1.2.0=continuity(v1.1.0) v1.3.0=head
- package "chain": channel "fast": kept for installed operators: chain.v1.2.0 (for chain.v1.1.0), chain.v1.3.0-5 (for chain.v1.1.0), chain.v1.3.0 (for chain.v1.1.0)
- package "chain": channel "stable": kept in addition to the selection so that no update path breaks: chain.v1.2.0 (for chain.v1.1.0)
- package "chain": channel "stable": kept for installed operators: chain.v1.1.0
`,
		},
		{
			"only the followed channel",
			runs(chain(imageset.Package{}), "chain.v1.2.0 stable"), `
chain, default stable
  fast: v2.0.0=head
  old: v1.0.0=head
  stable: v1.2.0=installed(v1.2.0) v1.3.0=head
- package "chain": channel "stable": kept for installed operators: chain.v1.2.0
`,
		},
		{
			"not in the catalog, but covered by a skipRange",
			runs(chain(imageset.Package{Channels: channels("stable")}), "chain.v1.1.5"), `
chain, default stable
  stable: v1.3.0=head
`,
		},
		{
			"not in the catalog, but named by an entry",
			runs(chain(imageset.Package{Channels: channels("stable")}), "chain.v0.9.0"), `
chain, default stable
  stable: v1.0.0=installed(v0.9.0) v1.1.0=installed(v0.9.0) v1.2.0=continuity(v1.1.0) v1.3.0=head
- package "chain": channel "stable": kept in addition to the selection so that no update path breaks: chain.v1.2.0 (for chain.v1.1.0)
- package "chain": channel "stable": kept for installed operators: chain.v1.0.0 (for chain.v0.9.0), chain.v1.1.0 (for chain.v0.9.0)
`,
		},
		{
			"the version of a bundle",
			runs(chain(imageset.Package{Channels: channels("stable")}), "=1.2.0"), `
chain, default stable
  stable: v1.2.0=installed(v1.2.0) v1.3.0=head
- package "chain": channel "stable": kept for installed operators: chain.v1.2.0
`,
		},
		{
			"the version of no bundle",
			runs(chain(imageset.Package{Channels: channels("stable")}), "=1.1.7"), `
chain, default stable
  stable: v1.3.0=head
`,
		},
		{
			"a version with build metadata is that bundle",
			runs(odd(imageset.Package{Channels: channels("builds")}), "=0.12.1+0.1749"), `
odd, default builds
  builds: v0.12.1-0.1749=installed(v0.12.1-0.1749) v0.13.0=head
- package "odd": channel "builds": kept for installed operators: odd.v0.12.1-0.1749
`,
		},
		{
			"above the range: it is kept and becomes the head",
			runs(chain(imageset.Package{Channels: channels("stable"), Range: imageset.Range{Max: "1.1.0"}}), "chain.v1.2.0"), `
chain, default stable
  stable: v1.0.0=range v1.1.0=range v1.2.0=installed(v1.2.0)
- package "chain": channel "stable": kept for installed operators: chain.v1.2.0
- package "chain": channel "stable": its head chain.v1.2.0 is not selected; it is kept for the installed chain.v1.2.0
- package "chain": channel "stable": its new head chain.v1.2.0 is below the original head chain.v1.3.0; clusters above the new head get no updates from this channel
`,
		},
		{
			"a bundle that the head skips needs nothing in between",
			runs(hung(imageset.Package{}), "hung.v1.2.0"), `
hung, default alpha
  alpha: v1.2.0=installed(v1.2.0) v1.6.0=head
- package "hung": channel "alpha": kept for installed operators: hung.v1.2.0
`,
		},
		{
			"pins, and the path to them",
			runs(chain(pins("chain.v1.3.0")), "chain.v1.2.0 stable"), `
chain, default stable
  fast: v1.3.0=bundle
  stable: v1.2.0=installed(v1.2.0) v1.3.0=bundle
- package "chain": channel "fast": its new head chain.v1.3.0 is below the original head chain.v2.0.0; clusters above the new head get no updates from this channel
- package "chain": channel "old" is left out: it has none of the pinned bundles
- package "chain": channel "stable": kept for installed operators: chain.v1.2.0
`,
		},
		{
			"OLM v1 stops before a lower version, and needs a pinned version",
			runs(odd(imageset.Package{Channels: channels("order"), DefaultChannel: "order"}), "odd.v1.17.5"), `
odd, default order (was builds)
  order: v1.17.5=installed(v1.17.5) v0.0.1=installed(v1.17.5) v1.17.7=installed(v1.17.5) v1.18.0=head
- package "odd": channel "order": kept for installed operators: odd.v1.17.5, odd.v0.0.1 (for odd.v1.17.5), odd.v1.17.7 (for odd.v1.17.5)
- package "odd": odd.v1.17.5 is installed: OLM v1 stops at odd.v1.17.5 before it reaches odd.v1.18.0; set the version of its ClusterExtension to 0.0.1 and continue from there
- package "odd": the default channel is "order" instead of "builds", as configured
`,
		},
		{
			"newer than the head",
			runs(chain(imageset.Package{Channels: channels("stable")}), "chain.v1.4.0"), `
chain, default stable
  stable: v1.3.0=head
- package "chain": chain.v1.4.0 is installed but has no update path to a kept head: it is newer than chain.v1.3.0 of channel "stable"; use a newer catalog or a higher maxVersion
`,
		},
		{
			"older than every bundle",
			runs(chain(imageset.Package{Channels: channels("stable")}), "chain.v0.5.0"), `
chain, default stable
  stable: v1.3.0=head
- package "chain": chain.v0.5.0 is installed but has no update path to a kept head: no update leads to chain.v1.3.0 of channel "stable" in the catalog; update the cluster with an older catalog first, or reinstall the operator
`,
		},
		{
			"another channel has an update",
			runs(chain(imageset.Package{Channels: channels("fast")}), "chain.v1.0.0"), `
chain, default fast (was stable)
  fast: v2.0.0=head
- package "chain": chain.v1.0.0 is installed but has no update path to a kept head: no update leads to chain.v2.0.0 of channel "fast"; the catalog has an update path in channel "old" or channel "stable"
- package "chain": its default channel "stable" is not kept; "fast", the only channel left, is the default now
`,
		},
		{
			"no version is known",
			runs(chain(imageset.Package{Channels: channels("stable")}), "chain-nightly"), `
chain, default stable
  stable: v1.3.0=head
- package "chain": chain-nightly is installed but has no update path to a kept head: no update leads to chain.v1.3.0 of channel "stable" for this name, and the installed version is unknown; add the version
`,
		},
		{
			"it follows a channel that is not kept, or not in the catalog",
			runs(chain(imageset.Package{Channels: channels("stable")}), "chain.v1.2.0 fast", "chain.v1.2.0 stable-1.2"), `
chain, default stable
  stable: v1.3.0=head
- package "chain": chain.v1.2.0 is installed but has no update path to a kept head: its channel "fast" is not kept; add it to channels
- package "chain": chain.v1.2.0 is installed but has no update path to a kept head: its channel "stable-1.2" is no longer in the catalog; switch to another: fast, old, stable
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

// OLM v1 without channels crosses from one channel to another. The hops that lead it to the last
// head are kept in their channels.
func TestApplyInstalledAcrossChannels(t *testing.T) {
	c := crossing(t)
	op := imageset.Operator{Catalog: "c", Packages: []imageset.Package{{Name: "p"}}}
	result, err := Apply(c, runs(op, "p.v1.0.0"))
	fail.On(t, err)
	want := `p, default a
  a: v1.0.0=installed(v1.0.0) v1.5.0=head
  b: v1.9.0=installed(v1.0.0) v2.0.0=head
- package "p": channel "a": kept for installed operators: p.v1.0.0
- package "p": channel "b": kept for installed operators: p.v1.9.0 (for p.v1.0.0)
`
	fail.Diff(t, want, summary(result))
}

// crossing is a package with two channels; channel b has an update for the head of a.
func crossing(t *testing.T) *catalog.Catalog {
	t.Helper()
	return small(t, "p", `{"schema":"olm.package","name":"p","defaultChannel":"a"}
{"schema":"olm.channel","package":"p","name":"a","entries":[{"name":"p.v1.0.0"},{"name":"p.v1.5.0","replaces":"p.v1.0.0"}]}
{"schema":"olm.channel","package":"p","name":"b","entries":[{"name":"p.v1.9.0","skipRange":">=1.5.0 <1.9.0"},{"name":"p.v2.0.0","replaces":"p.v1.9.0"}]}`,
		"1.0.0", "1.5.0", "1.9.0", "2.0.0")
}

func TestApplyInstalledErrors(t *testing.T) {
	c := read(t, "testdata/catalog")
	stranger := chain(imageset.Package{})
	stranger.Installed = []imageset.Installed{{Pos: at(30), Package: "hnug", Bundle: "hung.v1.0.0"}}
	for _, tc := range []struct {
		name string
		op   imageset.Operator
		want string
	}{
		{"a package that is not there", stranger, `imageset.yaml:30: package "hnug" is not in the catalog; did you mean "hung"?`},
		{
			"a misspelt channel", runs(chain(imageset.Package{}), "chain.v1.0.0 stabel"),
			`imageset.yaml:30: package "chain" has no channel "stabel", which the installed operator follows; did you mean "stable"?`,
		},
		{
			"a misspelt bundle", runs(chain(imageset.Package{}), "chian.v1.2.0"),
			`imageset.yaml:30: package "chain" has no installed bundle "chian.v1.2.0"; did you mean "chain.v1.2.0"?`,
		},
		{
			"no version", runs(chain(imageset.Package{}), "chain.v1=one"),
			`imageset.yaml:30: package "chain": reading the installed version "one": No Major.Minor.Patch elements found`,
		},
		{
			"of a catalog that is taken as it is", imageset.Operator{Full: true, Installed: []imageset.Installed{{Pos: at(30), Package: "chain", Bundle: "chain.v1.2.0", Channel: "fats"}}},
			`imageset.yaml:30: package "chain" has no channel "fats", which the installed operator follows; did you mean "fast"?`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Apply(c, tc.op)
			var wrong *SelectionError
			if !errors.As(err, &wrong) || len(wrong.Problems) != 1 || wrong.Problems[0].String() != tc.want {
				t.Errorf("error %v", err)
			}
		})
	}

	stranger.Installed[0].Package = "hung"
	result, err := Apply(c, stranger)
	if err != nil || len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "add the package to packages") {
		t.Errorf("a package that is not selected: %+v, %v", result, err)
	}
	whole, err := Apply(c, imageset.Operator{Full: true, Installed: []imageset.Installed{{Package: "chain", Bundle: "chain.v0.1.0"}}})
	if err != nil || whole.Catalog != c || len(whole.Notes) != 1 || !strings.Contains(whole.Notes[0], "no update leads to") {
		t.Errorf("an unfiltered catalog: %+v, %v", whole, err)
	}
}

func TestMisspelled(t *testing.T) {
	names := []string{"stable", "stable-v1.2", "fast"}
	for word, want := range map[string]string{
		"stabel": "stable", "stabl": "stable", "sttable": "stable", "stible": "stable",
		"staebl": "", "stable-v1.3": "", "stable-v1": "", "stabel-v1.2": "stable-v1.2", "": "", "beta": "",
	} {
		fail.Diff(t, want, misspelled(word, names))
	}
}

func TestVersionIn(t *testing.T) {
	for name, want := range map[string]string{
		"foo.v1.2.3": "1.2.3", "foo-v1.2.3-rc.1": "1.2.3-rc.1", "vault.v0.1.0+5": "0.1.0+5", "foo.1.2.3": "", "v": "", "foo": "",
	} {
		got, ok := versionIn(name)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%s: %s, %v", name, got, ok)
		}
	}
}
