package filter

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// runs adds to a selection what is installed of its package: a bundle, or a
// version after "=", and behind a blank the channel that is followed.
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
			"the shortest way to each head",
			runs(chain(imageset.Package{}), "chain.v1.1.0"), `
chain, default stable
  fast: v1.2.0=installed(v1.1.0) v1.3.0-5=installed(v1.1.0) v1.3.0=installed(v1.1.0) v2.0.0=head
  old: v1.0.0=head
  stable: v1.1.0=installed(v1.1.0) v1.2.0=installed(v1.1.0) v1.3.0=head
- package "chain": channel "fast": kept for what is installed: chain.v1.2.0 (for chain.v1.1.0), chain.v1.3.0-5 (for chain.v1.1.0), chain.v1.3.0 (for chain.v1.1.0)
- package "chain": channel "stable": kept for what is installed: chain.v1.1.0, chain.v1.2.0 (for chain.v1.1.0)
`,
		},
		{
			"the channel that is followed alone",
			runs(chain(imageset.Package{}), "chain.v1.2.0 stable"), `
chain, default stable
  fast: v2.0.0=head
  old: v1.0.0=head
  stable: v1.2.0=installed(v1.2.0) v1.3.0=head
- package "chain": channel "stable": kept for what is installed: chain.v1.2.0
`,
		},
		{
			"gone from the catalog, with a skipRange that leads on",
			runs(chain(imageset.Package{Channels: channels("stable")}), "chain.v1.1.5"), `
chain, default stable
  stable: v1.3.0=head
`,
		},
		{
			"gone from the catalog, and named by an entry",
			runs(chain(imageset.Package{Channels: channels("stable")}), "chain.v0.9.0"), `
chain, default stable
  stable: v1.0.0=installed(v0.9.0) v1.1.0=installed(v0.9.0) v1.2.0=installed(v0.9.0) v1.3.0=head
- package "chain": channel "stable": kept for what is installed: chain.v1.0.0 (for chain.v0.9.0), chain.v1.1.0 (for chain.v0.9.0), chain.v1.2.0 (for chain.v0.9.0)
`,
		},
		{
			"a version that a bundle has",
			runs(chain(imageset.Package{Channels: channels("stable")}), "=1.2.0"), `
chain, default stable
  stable: v1.2.0=installed(v1.2.0) v1.3.0=head
- package "chain": channel "stable": kept for what is installed: chain.v1.2.0
`,
		},
		{
			"a version that none has",
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
- package "odd": channel "builds": kept for what is installed: odd.v0.12.1-0.1749
`,
		},
		{
			"above the range: the head goes up, since it is to stay",
			runs(chain(imageset.Package{Channels: channels("stable"), Range: imageset.Range{Max: "1.1.0"}}), "chain.v1.2.0"), `
chain, default stable
  stable: v1.0.0=range v1.1.0=range v1.2.0=installed(v1.2.0)
- package "chain": channel "stable": kept for what is installed: chain.v1.2.0
- package "chain": channel "stable": its head is chain.v1.2.0, which was not asked for: it is kept for chain.v1.2.0, which is installed
- package "chain": channel "stable": its new head chain.v1.2.0 is below the original head chain.v1.3.0; clusters that are above it already get no updates from this channel
`,
		},
		{
			"what hangs on the head's skips needs nothing between",
			runs(hung(imageset.Package{}), "hung.v1.2.0"), `
hung, default alpha
  alpha: v1.2.0=installed(v1.2.0) v1.6.0=head
- package "hung": channel "alpha": kept for what is installed: hung.v1.2.0
`,
		},
		{
			"pins, and the way to them",
			runs(chain(pins("chain.v1.3.0")), "chain.v1.2.0 stable"), `
chain, default stable
  fast: v1.3.0=bundle
  stable: v1.2.0=installed(v1.2.0) v1.3.0=bundle
- package "chain": channel "fast": its new head chain.v1.3.0 is below the original head chain.v2.0.0; clusters that are above it already get no updates from this channel
- package "chain": channel "old" is left out: it has none of the bundles that are pinned
- package "chain": channel "stable": kept for what is installed: chain.v1.2.0
`,
		},
		{
			"OLM v1 stays below a lower version, where somebody has to help",
			runs(odd(imageset.Package{Channels: channels("order"), DefaultChannel: "order"}), "odd.v1.17.5"), `
odd, default order (was builds)
  order: v1.17.5=installed(v1.17.5) v0.0.1=installed(v1.17.5) v1.17.7=installed(v1.17.5) v1.18.0=head
- package "odd": channel "order": kept for what is installed: odd.v1.17.5, odd.v0.0.1 (for odd.v1.17.5), odd.v1.17.7 (for odd.v1.17.5)
- package "odd": odd.v1.17.5 is installed: OLM v1 by itself stays at odd.v1.17.5 on the way to odd.v1.18.0; set the version of its ClusterExtension to 0.0.1, and go on from there
- package "odd": the default channel is "order" instead of "builds", as configured
`,
		},
		{
			"newer than the head",
			runs(chain(imageset.Package{Channels: channels("stable")}), "chain.v1.4.0"), `
chain, default stable
  stable: v1.3.0=head
- package "chain": chain.v1.4.0 is installed, and gets to no head that is kept: it is newer than chain.v1.3.0 of channel "stable"; use a newer catalog or a higher maxVersion
`,
		},
		{
			"older than anything",
			runs(chain(imageset.Package{Channels: channels("stable")}), "chain.v0.5.0"), `
chain, default stable
  stable: v1.3.0=head
- package "chain": chain.v0.5.0 is installed, and gets to no head that is kept: there is no way from it to chain.v1.3.0 of channel "stable" in the catalog; update the cluster with an older catalog first, or install the operator anew
`,
		},
		{
			"another channel leads on",
			runs(chain(imageset.Package{Channels: channels("fast")}), "chain.v1.0.0"), `
chain, default fast (was stable)
  fast: v2.0.0=head
- package "chain": chain.v1.0.0 is installed, and gets to no head that is kept: there is no way from it to chain.v2.0.0 of channel "fast"; there is one in channel "old" or channel "stable" as the catalog has it
- package "chain": its default channel "stable" is not kept; "fast", the only channel left, is the default now
`,
		},
		{
			"no version is known",
			runs(chain(imageset.Package{Channels: channels("stable")}), "chain-nightly"), `
chain, default stable
  stable: v1.3.0=head
- package "chain": chain-nightly is installed, and gets to no head that is kept: there is no way from it to chain.v1.3.0 of channel "stable" by its name, and its version is not known; give it too
`,
		},
		{
			"it follows a channel that is not kept, or not there any more",
			runs(chain(imageset.Package{Channels: channels("stable")}), "chain.v1.2.0 fast", "chain.v1.2.0 stable-1.2"), `
chain, default stable
  stable: v1.3.0=head
- package "chain": chain.v1.2.0 is installed, and gets to no head that is kept: the channel "fast" that it follows is not kept; add it to channels
- package "chain": chain.v1.2.0 is installed, and gets to no head that is kept: the channel "stable-1.2" that it follows is not in the catalog any more; have it follow another: fast, old, stable
`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result, err := Apply(c, tc.op)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), summary(result)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// OLM v1 without channels goes from one to another; the hops that lead it to the
// last head are kept, in the channels that have them.
func TestApplyInstalledAcrossChannels(t *testing.T) {
	c := crossing(t)
	op := imageset.Operator{Catalog: "c", Packages: []imageset.Package{{Name: "p"}}}
	result, err := Apply(c, runs(op, "p.v1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	want := `p, default a
  a: v1.0.0=installed(v1.0.0) v1.5.0=head
  b: v1.9.0=installed(v1.0.0) v2.0.0=head
- package "p": channel "a": kept for what is installed: p.v1.0.0
- package "p": channel "b": kept for what is installed: p.v1.9.0 (for p.v1.0.0)
`
	if diff := cmp.Diff(want, summary(result)); diff != "" {
		t.Error(diff)
	}
}

// crossing is a package of two channels; from the head of a the other leads on.
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
			`imageset.yaml:30: package "chain" has no channel "stabel" to be followed; did you mean "stable"?`,
		},
		{
			"a misspelt bundle", runs(chain(imageset.Package{}), "chian.v1.2.0"),
			`imageset.yaml:30: package "chain" has no bundle "chian.v1.2.0" to be installed; did you mean "chain.v1.2.0"?`,
		},
		{
			"no version", runs(chain(imageset.Package{}), "chain.v1=one"),
			`imageset.yaml:30: package "chain": reading the installed version "one": No Major.Minor.Patch elements found`,
		},
		{
			"of a catalog that is taken as it is", imageset.Operator{Full: true, Installed: []imageset.Installed{{Pos: at(30), Package: "chain", Bundle: "chain.v1.2.0", Channel: "fats"}}},
			`imageset.yaml:30: package "chain" has no channel "fats" to be followed; did you mean "fast"?`,
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
	if err != nil || len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "add it to packages") {
		t.Errorf("a package that is not taken: %+v, %v", result, err)
	}
	whole, err := Apply(c, imageset.Operator{Full: true, Installed: []imageset.Installed{{Package: "chain", Bundle: "chain.v0.1.0"}}})
	if err != nil || whole.Catalog != c || len(whole.Notes) != 1 || !strings.Contains(whole.Notes[0], "no way from it") {
		t.Errorf("a catalog as it is: %+v, %v", whole, err)
	}
}

func TestMisspelt(t *testing.T) {
	names := []string{"stable", "stable-v1.2", "fast"}
	for word, want := range map[string]string{
		"stabel": "stable", "stabl": "stable", "sttable": "stable", "stible": "stable",
		"staebl": "", "stable-v1.3": "", "stable-v1": "", "stabel-v1.2": "stable-v1.2", "": "", "beta": "",
	} {
		if got := misspelt(word, names); got != want {
			t.Errorf("%q: %q, not %q", word, got, want)
		}
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
