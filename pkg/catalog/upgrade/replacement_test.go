package upgrade_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// lines formats a replacement, a line for each problem.
func lines(r upgrade.Replacement) string {
	var all []string
	for _, s := range r.Stranded {
		line := fmt.Sprintf("%s/%s %s %s by %s: %s", s.Package, s.Channel, s.Outcome, strings.Join(s.Bundles, ","), strings.Join(s.Generations, " and "), s.Explanation)
		for _, f := range s.Fixes {
			line += "; fix: " + f.Message
		}
		all = append(all, line)
	}
	for _, o := range r.Older {
		all = append(all, fmt.Sprintf("%s/%s older: %s after %s", o.Package, o.Channel, o.After, o.Before))
	}
	return strings.Join(all, "\n")
}

// What clusters lose if a catalog replaces another one.
func TestReplace(t *testing.T) {
	t.Parallel()
	const month1 = "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0"
	const month2 = "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0 p.v1.3.0<p.v1.2.0"
	const both = "p/stable stranded p.v1.0.0,p.v1.1.0 by OLM classic and OLM v1: there is no upgrade path to the head p.v1.3.0"
	const keep = "; fix: keep p.v1.1.0, p.v1.2.0: add {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: stable} to installed of the catalog in the configuration, or set minVersion: 1.1.0"
	const entry = "{package: p, bundle: p.v1.1.0, version: 1.1.0, channel: stable}"
	const fast = "{package: p, bundle: p.v1.1.0, version: 1.1.0, channel: fast}"
	for _, tc := range []struct {
		name          string
		before, after []string
		source        []string // of after; nil if unknown
		want          string
	}{
		{name: "the same", before: []string{month2}, after: []string{month2}},
		{name: "longer", before: []string{month1}, after: []string{month2}},
		{name: "removed bundles below the head", before: []string{month2}, after: []string{"stable: p.v1.3.0<p.v1.2.0"}, source: []string{month2}, want: both + keep},
		{name: "a stranded head", before: []string{month1}, after: []string{"stable: p.v1.3.0<p.v1.2.0"}, source: []string{month2}, want: both + keep},
		{name: "a stranded head, the source is unknown", before: []string{month1}, after: []string{"stable: p.v1.3.0<p.v1.2.0"},
			want: both + "; fix: the original catalog is not available to tell which bundles are missing; add {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: stable}, " + entry + " to installed of the catalog and plan again"},
		{name: "stranded before", before: []string{"stable: p.v1.3.0<p.v1.2.0 p.v1.3.1<p.v1.3.0"}, after: []string{"stable: p.v1.3.1<p.v1.3.0 p.v1.4.0<p.v1.3.1"}},
		{name: "the publisher strands it", before: []string{month1}, after: []string{"stable: p.v1.3.0<p.v1.2.0"}, source: []string{"stable: p.v1.3.0<p.v1.2.0"},
			want: both + "; the publisher offers no update for it; fix: reinstall it, or set upgradeConstraintPolicy: SelfCertified in the ClusterExtension if the publisher says that it is safe"},
		{name: "there is another channel", before: []string{month1}, after: []string{"stable: p.v1.3.0<p.v1.2.0", "z: p.v1.3.0"}, source: []string{"stable: p.v1.3.0<p.v1.2.0", "z: p.v1.3.0"},
			want: both + "; the publisher offers no update for it; fix: choose channels other than stable in the ClusterExtension, or reinstall the operator"},
		{name: "the head moves backwards", before: []string{month2}, after: []string{month1}, want: "p/stable older: p.v1.1.0 after p.v1.3.0"},
		{name: "a channel is gone", before: []string{month1, "fast: p.v1.1.0"}, after: []string{month1}, source: []string{month1, "fast: p.v1.1.0"},
			want: "p/fast stranded p.v1.1.0 by OLM classic: it follows channel fast, which is not mirrored; fix: add channel fast to package p in the configuration, and " + fast + " to installed of the catalog; fix: set the channel of the Subscription to one with an upgrade path: stable\n" +
				"p/fast stranded p.v1.1.0 by OLM v1: the mirror has no bundle in channel fast, to which the ClusterExtension is limited; fix: add channel fast to package p in the configuration, and " + fast + " to installed of the catalog"},
		{name: "a channel is gone at the publisher", before: []string{month1, "fast: p.v1.1.0"}, after: []string{month1}, source: []string{month1},
			want: "p/fast stranded p.v1.1.0 by OLM classic: it follows channel fast, which is not in the publisher's catalog; fix: set the channel of the Subscription to one with an upgrade path: stable\n" +
				"p/fast stranded p.v1.1.0 by OLM v1: the mirror has no bundle in channel fast, to which the ClusterExtension is limited"},
		{name: "only by hand", before: []string{"stable: p.v1.0.0 p.v2.0.0<p.v1.0.0"}, after: []string{"stable: p.v1.0.0 p.v2.0.0<p.v1.0.0 p.v3.0.0<p.v2.0.0", "z: p.v1.0.0 p.v2.5.0<p.v1.0.0"},
			want: "p/ by-hand p.v1.0.0 by OLM v1: it stops at p.v2.5.0: OLM v1 chooses the highest version that it finds, and no upgrade path leads from there to the head p.v3.0.0; fix: set spec.source.catalog.version of the ClusterExtension to these versions, one after the other: 2.0.0, 3.0.0"},
		{name: "a skipRange", before: []string{month2}, after: []string{"stable: p.v1.3.0<p.v1.2.0~>=1.0.0_<1.3.0"}},
		{name: "two heads", before: []string{month1}, after: []string{"stable: p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.0.0"},
			want: "p/stable stranded p.v1.0.0,p.v1.1.0 by OLM classic: OLM classic refuses updates from channel stable, which has no single head that all its entries lead to\n" +
				"p/stable stranded p.v1.1.0 by OLM v1: there is no upgrade path to the head p.v1.2.0; fix: the original catalog is not available to tell which bundles are missing; add " + entry + " to installed of the catalog and plan again"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			after := upgrade.Catalog{Name: "c", Kept: content(t, tc.after...)}
			if tc.source != nil {
				after.Source = content(t, tc.source...)
			}
			fail.Diff(t, tc.want, lines(upgrade.Replace(content(t, tc.before...), after)))
		})
	}
}

// A package that is gone strands all its bundles.
func TestReplaceWithoutPackage(t *testing.T) {
	t.Parallel()
	before := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0")
	empty := &catalog.Catalog{}
	const gone = "p/ not-mirrored p.v1.0.0,p.v1.1.0 by OLM classic and OLM v1: the package is no longer in the catalog, so installed operators get no updates"
	const fix = "; fix: add {name: p} to packages of the catalog in the configuration"
	for _, tc := range []struct {
		source *catalog.Catalog
		want   string
	}{
		{nil, gone + fix},
		{before, gone + fix},
		{&catalog.Catalog{Names: []string{"p"}}, gone + fix},
		{empty, gone + "; the publisher's catalog does not have it either"},
	} {
		fail.Diff(t, tc.want, lines(upgrade.Replace(before, upgrade.Catalog{Name: "c", Kept: empty, Source: tc.source})))
	}
}

// The fix of a stranded head keeps it from being stranded.
func TestReplaceFix(t *testing.T) {
	t.Parallel()
	source := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0 p.v1.3.0<p.v1.2.0")
	op := imageset.Operator{Catalog: "example.com/c:v1", Packages: []imageset.Package{{Name: "p"}}}
	month1 := content(t, "stable: p.v1.1.0<p.v1.0.0")
	heads, err := filter.Apply(source, op)
	fail.On(t, err)
	r := upgrade.Replace(month1, upgrade.Catalog{Name: "c", Kept: heads.Catalog, Source: source})
	if len(r.Stranded) != 1 || len(r.Stranded[0].Fixes) != 1 || cmp.Diff([]string{"p.v1.2.0"}, r.Stranded[0].Fixes[0].Keep) != "" {
		t.Fatalf("got %s", lines(r))
	}
	op.Installed = []imageset.Installed{{Package: "p", Bundle: "p.v1.1.0", Version: "1.1.0", Channel: "stable"}}
	fixed, err := filter.Apply(source, op)
	fail.On(t, err)
	fail.Diff(t, "", lines(upgrade.Replace(month1, upgrade.Catalog{Name: "c", Kept: fixed.Catalog, Source: source})))
}

// A fix with many bundles names a few, and Keep has all.
func TestReplaceFixOfManyBundles(t *testing.T) {
	t.Parallel()
	all := "stable: p.v1.0.0"
	for i := range 20 {
		all += fmt.Sprintf(" p.v1.%d.0<p.v1.%d.0", i+1, i)
	}
	after := upgrade.Catalog{Name: "c", Kept: content(t, "stable: p.v1.20.0<p.v1.19.0"), Source: content(t, all)}
	r := upgrade.Replace(content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0 p.v1.3.0<p.v1.2.0"), after)
	const want = "package p, channel stable (OLM classic, OLM v1): p.v1.0.0, p.v1.1.0, p.v1.2.0 and 1 more: there is no upgrade path to the head p.v1.20.0"
	if len(r.Stranded) != 1 || r.Stranded[0].String() != want {
		t.Fatalf("got %s", lines(r))
	}
	fix := r.Stranded[0].Fixes[0]
	if len(fix.Keep) != 19 || !strings.HasPrefix(fix.Message, "keep p.v1.1.0, p.v1.2.0, p.v1.3.0 and 16 more: add {package: p, bundle: p.v1.0.0,") {
		t.Errorf("got %+v", fix)
	}
}
