package upgrade_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A Subscription gets updates only from the catalog that it names.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	source := content(t, chain)
	heads := keep(t, source, "packages: [{name: p}]")
	empty := &catalog.Catalog{Names: []string{"q"}}
	left := &catalog.Catalog{Names: []string{"p"}}
	stuck, complete := upgrade.Catalog{Name: "a", Kept: heads, Source: source, CatalogSource: "market/cs-a"}, upgrade.Catalog{Name: "b", Kept: source, Source: source, CatalogSource: "market/cs-b"}
	without := upgrade.Catalog{Name: "c", Kept: empty, Source: empty, CatalogSource: "market/cs-c"}
	out := upgrade.Catalog{Name: "d", Kept: empty, Source: left, CatalogSource: "market/cs-d"}
	nameless := func(c upgrade.Catalog) upgrade.Catalog {
		c.CatalogSource = ""
		return c
	}
	const keepFix = "  fix: keep p.v1.1.0, p.v1.2.0: add {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: stable} to installed of the catalog in the configuration, or set minVersion: 1.1.0"
	const reaches = "b/stable reaches: p.v1.1.0(replaces) p.v1.2.0(replaces) p.v1.3.0(replaces)\n  it reaches the head p.v1.3.0"
	const add = "\n  fix: add package p to catalog d in the configuration, and {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: stable} to its installed"
	for name, test := range map[string]struct {
		source   string
		catalogs []upgrade.Catalog
		want     string
	}{
		"a catalog without an upgrade path":   {"market/cs-a", []upgrade.Catalog{stuck, complete}, "stranded\na/stable stranded:\n  there is no upgrade path to the head p.v1.3.0\n" + keepFix},
		"a catalog with an upgrade path":      {"market/cs-b", []upgrade.Catalog{stuck, complete}, "reaches\n" + reaches},
		"without a namespace":                 {"/cs-b", []upgrade.Catalog{stuck, complete}, "reaches\n" + reaches},
		"a name in another namespace":         {"other/cs-b", []upgrade.Catalog{complete}, "reaches\n" + reaches + "\n  note: the source of its Subscription, other/cs-b, is not a CatalogSource of this mirror; change it to market/cs-b to get the update"},
		"another source":                      {"market/community", []upgrade.Catalog{complete}, "reaches\n" + reaches + "\n  note: the source of its Subscription, market/community, is not a CatalogSource of this mirror; change it to market/cs-b to get the update"},
		"unknown CatalogSources":              {"market/community", []upgrade.Catalog{nameless(complete)}, "reaches\n" + reaches},
		"a catalog without the package":       {"market/cs-c", []upgrade.Catalog{without, complete}, "not-mirrored the mirror's copy of its catalog market/cs-c does not have package p, so it gets no updates\n  fix: set the source of its Subscription to market/cs-b, which has the package"},
		"a catalog that excludes the package": {"market/cs-d", []upgrade.Catalog{out}, "not-mirrored package p is not mirrored, so it gets no updates" + add},
		"another source, excluded package":    {"market/community", []upgrade.Catalog{out}, "elsewhere the source of its Subscription, market/community, is not a CatalogSource of this mirror, and the mirror does not have package p" + add},
		"excluded package":                    {"", []upgrade.Catalog{out}, "not-mirrored package p is not mirrored, so it gets no updates" + add},
		"no catalog has the package":          {"", []upgrade.Catalog{without}, "elsewhere no catalog of the configuration has package p, so it gets no updates from the mirror"},
		"unknown original catalog":            {"market/cs-c", []upgrade.Catalog{{Name: "c", Kept: empty}}, "elsewhere the mirror does not have package p; if it was installed from this mirror, it gets no more updates"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := classic("1.0.0", "stable")
			o.Catalog = test.source
			r := checked(t, []installed.Operator{o}, test.catalogs, upgrade.Options{})
			fail.Diff(t, test.want, format(r.Operators[0]))
		})
	}
}

// OLM v1 finds several candidates only if several catalogs offer a bundle for the installed one.
func TestAmbiguousCatalogs(t *testing.T) {
	t.Parallel()
	long, other := content(t, chain), content(t, "stable: p.v0.1.0")
	const ambiguous = "(a, b); OLM v1 resolves no bundle unless the ClusterExtension's selector or the priorities of the ClusterCatalogs choose one"
	for name, test := range map[string]struct {
		a, b *catalog.Catalog
		want []string
	}{
		"both":                   {long, long, []string{"several catalogs offer a bundle when p.v1.0.0 is installed " + ambiguous}},
		"one":                    {long, other, nil},
		"at the end of the path": {long, content(t, "stable: p.v1.2.0"), []string{"several catalogs offer a bundle when p.v1.2.0 is installed " + ambiguous}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checked(t, []installed.Operator{v1("1.0.0")}, []upgrade.Catalog{{Name: "a", Kept: test.a}, {Name: "b", Kept: test.b}}, upgrade.Options{})
			if diff := cmp.Diff(test.want, r.Operators[0].Notes); diff != "" {
				t.Errorf("%s\n%s", diff, format(r.Operators[0]))
			}
		})
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	mirror := upgrade.Catalog{Name: "c", Kept: content(t, chain)}
	twin := &catalog.Catalog{Outlines: []*catalog.Package{{Name: "q", Bundles: []*catalog.Bundle{{Package: "q", Name: "p.v1.1.0"}}}}}
	const note = "its package was inferred: only package p has a bundle of this name"
	for name, test := range map[string]struct {
		operator installed.Operator
		catalogs []upgrade.Catalog
		want     string
		notes    []string
	}{
		"one package":  {installed.Operator{Bundle: "p.v1.1.0"}, []upgrade.Catalog{mirror}, "p", []string{note}},
		"excluded":     {installed.Operator{Bundle: "p.v1.1.0"}, []upgrade.Catalog{{Name: "c", Kept: &catalog.Catalog{}, Source: mirror.Kept}}, "p", []string{note}},
		"two catalogs": {installed.Operator{Bundle: "p.v1.1.0"}, []upgrade.Catalog{mirror, mirror}, "p", []string{note}},
		"two packages": {installed.Operator{Bundle: "p.v1.1.0"}, []upgrade.Catalog{mirror, {Name: "d", Kept: twin}}, "", nil},
		"none":         {installed.Operator{Bundle: "p.v1.9.0"}, []upgrade.Catalog{mirror}, "", nil},
		"known":        {installed.Operator{Package: "q", Bundle: "p.v1.1.0"}, []upgrade.Catalog{mirror}, "q", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.operator.Generation = graph.Classic
			var catalogs []*catalog.Catalog
			for _, k := range test.catalogs {
				catalogs = append(catalogs, k.Kept, k.Source)
			}
			got := installed.Identify([]installed.Operator{test.operator}, catalogs...)[0]
			fail.Diff(t, test.want, got.Package)
			fail.Diff(t, test.notes, got.Notes)
		})
	}
}
