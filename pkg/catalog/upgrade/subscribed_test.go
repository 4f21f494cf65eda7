package upgrade_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
)

// A Subscription gets updates of the catalog that it names, and of no other.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	source := content(t, chain)
	heads := keep(t, source, "packages: [{name: p}]")
	empty := &catalog.Catalog{Names: []string{"q"}}
	left := &catalog.Catalog{Names: []string{"p"}}
	stuck, goes := upgrade.Catalog{Name: "a", Kept: heads, Source: source, CatalogSource: "market/cs-a"}, upgrade.Catalog{Name: "b", Kept: source, Source: source, CatalogSource: "market/cs-b"}
	without := upgrade.Catalog{Name: "c", Kept: empty, Source: empty, CatalogSource: "market/cs-c"}
	out := upgrade.Catalog{Name: "d", Kept: empty, Source: left, CatalogSource: "market/cs-d"}
	nameless := func(c upgrade.Catalog) upgrade.Catalog {
		c.CatalogSource = ""
		return c
	}
	const mended = "  mend: keep p.v1.1.0, p.v1.2.0: add {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: stable} to installed of the catalog in the configuration, or set minVersion: 1.1.0"
	const reaches = "b/stable reaches: p.v1.1.0(replaces) p.v1.2.0(replaces) p.v1.3.0(replaces)\n  it gets to the head p.v1.3.0"
	const add = "\n  mend: add package p to catalog d in the configuration, and {package: p, bundle: p.v1.0.0, version: 1.0.0, channel: stable} to its installed"
	for name, test := range map[string]struct {
		source   string
		catalogs []upgrade.Catalog
		want     string
	}{
		"the one that strands it":   {"market/cs-a", []upgrade.Catalog{stuck, goes}, "stranded\na/stable stranded:\n  there is no update for it that leads to the head p.v1.3.0\n" + mended},
		"the one that does not":     {"market/cs-b", []upgrade.Catalog{stuck, goes}, "reaches\n" + reaches},
		"without a namespace":       {"/cs-b", []upgrade.Catalog{stuck, goes}, "reaches\n" + reaches},
		"a name in another one":     {"other/cs-b", []upgrade.Catalog{goes}, "reaches\n" + reaches + "\n  note: its Subscription has the source other/cs-b, which is none of this mirror's CatalogSources; the update comes once that is changed to market/cs-b"},
		"none of them":              {"market/community", []upgrade.Catalog{goes}, "reaches\n" + reaches + "\n  note: its Subscription has the source market/community, which is none of this mirror's CatalogSources; the update comes once that is changed to market/cs-b"},
		"names that are not known":  {"market/community", []upgrade.Catalog{nameless(goes)}, "reaches\n" + reaches},
		"one without the package":   {"market/cs-c", []upgrade.Catalog{without, goes}, "not-mirrored its catalog market/cs-c does not have package p in the mirror, so that it gets no updates\n  mend: set the source of its Subscription to market/cs-b, which has the package"},
		"one that leaves it out":    {"market/cs-d", []upgrade.Catalog{out}, "not-mirrored the mirror leaves out package p, so that it gets no updates" + add},
		"it is left out by another": {"market/community", []upgrade.Catalog{out}, "elsewhere its Subscription has the source market/community, which is none of this mirror's CatalogSources, and the mirror does not have package p" + add},
		"it is left out":            {"", []upgrade.Catalog{out}, "not-mirrored the mirror leaves out package p, so that it gets no updates" + add},
		"no catalog has it":         {"", []upgrade.Catalog{without}, "elsewhere no catalog of the configuration has package p, so that it gets no updates from the mirror"},
		"a catalog of the mirror":   {"market/cs-c", []upgrade.Catalog{{Name: "c", Kept: empty}}, "elsewhere the mirror does not have package p; if it came from this mirror, it gets no more updates"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := classic("1.0.0", "stable")
			o.Catalog = test.source
			r, err := upgrade.Check([]installed.Operator{o}, test.catalogs, upgrade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, say(r.Operators[0])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// OLM v1 is torn only where several catalogs offer what it may go to.
func TestTornBetweenCatalogs(t *testing.T) {
	t.Parallel()
	long, other := content(t, chain), content(t, "stable: p.v0.1.0")
	const torn = "several catalogs offer a bundle (a, b); OLM v1 resolves nothing unless the ClusterExtension's selector or the priorities of the ClusterCatalogs choose one"
	for name, test := range map[string]struct {
		a, b *catalog.Catalog
		want []string
	}{
		"both":                  {long, long, []string{"to who runs p.v1.0.0 " + torn}},
		"one":                   {long, other, nil},
		"at the end of the way": {long, content(t, "stable: p.v1.2.0"), []string{"to who runs p.v1.2.0 " + torn}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := upgrade.Check([]installed.Operator{v1("1.0.0")}, []upgrade.Catalog{{Name: "a", Kept: test.a}, {Name: "b", Kept: test.b}}, upgrade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, r.Operators[0].Notes); diff != "" {
				t.Errorf("%s\n%s", diff, say(r.Operators[0]))
			}
		})
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	mirror := upgrade.Catalog{Name: "c", Kept: content(t, chain)}
	twin := &catalog.Catalog{Outlines: []*catalog.Package{{Name: "q", Bundles: []*catalog.Bundle{{Package: "q", Name: "p.v1.1.0"}}}}}
	const note = "it does not tell its package; of the catalogs' packages only p has a bundle of its name"
	for name, test := range map[string]struct {
		operator installed.Operator
		catalogs []upgrade.Catalog
		want     string
		notes    []string
	}{
		"one package":  {installed.Operator{Bundle: "p.v1.1.0"}, []upgrade.Catalog{mirror}, "p", []string{note}},
		"left out":     {installed.Operator{Bundle: "p.v1.1.0"}, []upgrade.Catalog{{Name: "c", Kept: &catalog.Catalog{}, Source: mirror.Kept}}, "p", []string{note}},
		"two catalogs": {installed.Operator{Bundle: "p.v1.1.0"}, []upgrade.Catalog{mirror, mirror}, "p", []string{note}},
		"two packages": {installed.Operator{Bundle: "p.v1.1.0"}, []upgrade.Catalog{mirror, {Name: "d", Kept: twin}}, "", nil},
		"none":         {installed.Operator{Bundle: "p.v1.9.0"}, []upgrade.Catalog{mirror}, "", nil},
		"known":        {installed.Operator{Package: "q", Bundle: "p.v1.1.0"}, []upgrade.Catalog{mirror}, "q", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.operator.Generation = graph.Classic
			got := upgrade.Identify([]installed.Operator{test.operator}, test.catalogs)[0]
			if got.Package != test.want {
				t.Errorf("its package is %q, want %q", got.Package, test.want)
			}
			if diff := cmp.Diff(test.notes, got.Notes); diff != "" {
				t.Error(diff)
			}
		})
	}
}
