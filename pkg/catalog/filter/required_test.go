package filter

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// small reads a package from text, with bundles of these versions.
func small(t *testing.T, name, text string, versions ...string) *catalog.Catalog {
	t.Helper()
	for _, v := range versions {
		text += fmt.Sprintf("\n"+`{"schema":"olm.bundle","package":%q,"name":"%s.v%s","image":"r.example/%s:1","properties":[{"type":"olm.package","value":{"packageName":%q,"version":%q}}]}`, name, name, v, name, name, v)
	}
	c, err := catalog.Read(t.Context(), fstest.MapFS{"c.json": {Data: []byte(text)}}, catalog.Options{})
	fail.On(t, err)
	return c
}

func TestApplyRequired(t *testing.T) {
	c := read(t, "testdata/catalog")
	for _, tc := range []struct {
		name     string
		op       imageset.Operator
		required []Required
		want     string
	}{
		{
			"an unselected package: only that channel, with that bundle",
			hung(imageset.Package{}), []Required{{"chain", "stable", "chain.v1.2.0", "hung.v1.6.0 of c"}}, `
chain, default stable
  stable: v1.2.0=dependency(hung.v1.6.0 of c)
hung, default alpha
  alpha: v1.6.0=head
`,
		},
		{
			"with two channels, the first required one becomes the default",
			hung(imageset.Package{}), []Required{{"chain", "old", "chain.v1.0.0", "x"}, {"chain", "fast", "chain.v1.2.0", "y"}, {"chain", "fast", "chain.v1.3.0", "z"}}, `
chain, default old (was stable)
  fast: v1.2.0=dependency(y) v1.3.0-5=continuity(v1.2.0) v1.3.0=dependency(z)
  old: v1.0.0=dependency(x)
hung, default alpha
  alpha: v1.6.0=head
- package "chain": channel "fast": kept in addition to the selection so that no update path breaks: chain.v1.3.0-5 (for chain.v1.2.0)
- package "chain": its default channel "stable" is not kept; "old", which x needs, is the default now
`,
		},
		{
			"an additional channel does not become the default",
			chain(imageset.Package{Channels: channels("fast")}), []Required{{"chain", "old", "chain.v1.0.0", "x"}}, `
chain, default fast (was stable)
  fast: v2.0.0=head
  old: v1.0.0=dependency(x)
- package "chain": its default channel "stable" is not kept; "fast", the only channel left, is the default now
`,
		},
		{
			"a bundle that is already selected, and one below it",
			chain(imageset.Package{Channels: channels("stable")}), []Required{{"chain", "stable", "chain.v1.3.0", "x"}, {"chain", "stable", "chain.v1.2.0", "x"}}, `
chain, default stable
  stable: v1.2.0=dependency(x) v1.3.0=head
`,
		},
		{
			"pins stay exact without it, and are completed with it",
			chain(pins("chain.v1.3.0")), []Required{{"chain", "stable", "chain.v1.1.0", "x"}}, `
chain, default stable
  fast: v1.3.0=bundle
  stable: v1.1.0=dependency(x) v1.2.0=continuity(v1.1.0) v1.3.0=bundle
- package "chain": channel "fast": its new head chain.v1.3.0 is below the original head chain.v2.0.0; clusters above the new head get no updates from this channel
- package "chain": channel "old" is left out: it has none of the pinned bundles
- package "chain": channel "stable": kept in addition to the selection so that no update path breaks: chain.v1.2.0 (for chain.v1.1.0)
`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result, err := Apply(c, tc.op, tc.required...)
			fail.On(t, err)
			fail.Diff(t, strings.TrimPrefix(tc.want, "\n"), summary(result))
			again, err := Apply(result.Catalog, tc.op, tc.required...)
			if err != nil && !strings.Contains(err.Error(), "has no channel") || err == nil && !sameBytes(t, result.Catalog, again.Catalog) {
				t.Errorf("filtering again gives something else: %v", err)
			}
		})
	}
}

// A requirement that the catalog does not have is an error, but not one of the configuration.
func TestApplyRequiredGaps(t *testing.T) {
	c := read(t, "testdata/catalog")
	for _, tc := range []struct {
		required Required
		want     string
	}{
		{Required{"nope", "a", "nope.v1", "x of c"}, `adding nope.v1, which x of c needs: package "nope" was not read`},
		{Required{"hung", "beta", "hung.v1.0.0", "x of c"}, `there is no channel "beta"`},
		{Required{"hung", "alpha", "hung.v9", "x of c"}, `channel "alpha" does not have it`},
	} {
		result, err := Apply(c, chain(imageset.Package{}), tc.required)
		if result != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v", tc.required, err)
		}
	}
}

// An empty range stays an error, even if others need the package.
func TestApplyRequiredBesideAnEmptyRange(t *testing.T) {
	_, err := Apply(read(t, "testdata/catalog"), chain(imageset.Package{Range: imageset.Range{Min: "9.0.0"}}), Required{"chain", "stable", "chain.v1.3.0", "x"})
	if err == nil || !strings.Contains(err.Error(), "has no version 9.0.0 or higher") {
		t.Errorf("error %v", err)
	}
}
