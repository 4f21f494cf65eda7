package upgrade_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
)

// library is a catalog of the package lib, which has one bundle with properties.
func library(t *testing.T, properties string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Read(t.Context(), fstest.MapFS{"lib.yaml": {Data: []byte(`---
{schema: olm.package, name: lib, defaultChannel: s}
---
{schema: olm.channel, package: lib, name: s, entries: [{name: lib.v1}]}
---
{schema: olm.bundle, package: lib, name: lib.v1, image: a/b, properties: [{type: olm.package, value: {packageName: lib, version: 1.0.0}}` + properties + `]}
`)}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// OLM classic installs a bundle only together with what it needs.
func TestNeedsOfHops(t *testing.T) {
	t.Parallel()
	const (
		needsLib = `p.v1.1.0={"type":"olm.package.required","value":{"packageName":"lib","versionRange":">=1.0.0"}}`
		libNeeds = `, {type: olm.gvk.required, value: {group: x.io, version: v1, kind: A}}`
		gap      = "dependency may=true: p.v1.1.0 needs package lib in the version range >=1.0.0; neither the mirror nor what is known to be installed provides that: OLM classic installs it only if another catalog of the cluster does"
		lent     = "note: p.v1.1.0 needs package lib in the version range >=1.0.0, which the mirror does not provide; the installed lib.v1 does"
	)
	c := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0", needsLib)
	past := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0", needsLib)
	around := content(t, "stable: p.v1.0.0 p.v1.0.5<p.v1.0.0 p.v1.1.0<p.v1.0.5~<1.1.0 p.v1.2.0<p.v1.1.0~>=1.0.5_<1.2.0", needsLib)
	runs := func(namespace string) installed.Operator {
		return installed.Operator{Generation: graph.Classic, Namespace: namespace, Package: "lib", Bundle: "lib.v1", Version: "1.0.0"}
	}
	api := runs("n")
	api.Package, api.APIs = "other", []installed.API{{Group: "x.io", Version: "v1", Kind: "A"}}
	outlined := &catalog.Catalog{Outlines: library(t, "").Packages}
	for name, test := range map[string]struct {
		content *catalog.Catalog
		others  []*catalog.Catalog
		runs    []installed.Operator
		outcome upgrade.Outcome
		want    []string
	}{
		"nothing":                       {c, nil, nil, upgrade.Lacking, []string{gap, "mend: mirror what provides it: name its package in the configuration, or set dependencies: true for the catalog"}},
		"a hop before the head":         {past, nil, nil, upgrade.Lacking, []string{gap, "mend: mirror what provides it: name its package in the configuration, or set dependencies: true for the catalog"}},
		"another way to the head":       {around, nil, nil, upgrade.Reaches, []string{"it gets to the head p.v1.2.0, not by way of p.v1.1.0, which needs what nothing provides"}},
		"another catalog of the mirror": {c, []*catalog.Catalog{library(t, "")}, nil, upgrade.Reaches, nil},
		"one that is only outlined":     {c, []*catalog.Catalog{outlined}, nil, upgrade.Reaches, nil},
		"one that cannot be installed":  {c, []*catalog.Catalog{library(t, libNeeds)}, nil, upgrade.Lacking, []string{gap, "mend: mirror what provides it: name its package in the configuration, or set dependencies: true for the catalog"}},
		"one that can":                  {c, []*catalog.Catalog{library(t, libNeeds)}, []installed.Operator{api}, upgrade.Reaches, nil},
		"what is installed":             {c, nil, []installed.Operator{runs("n")}, upgrade.Reaches, []string{lent}},
		"and mirrored":                  {c, []*catalog.Catalog{library(t, "")}, []installed.Operator{runs("n")}, upgrade.Reaches, nil},
		"somewhere":                     {c, nil, []installed.Operator{runs("")}, upgrade.Reaches, []string{lent}},
		"in another namespace": {c, nil, []installed.Operator{runs("m")}, upgrade.Reaches, []string{
			"dependency may=true: p.v1.1.0 needs package lib in the version range >=1.0.0; the mirror does not provide that, and what is installed of it is not in namespace n, where OLM classic looks: OLM classic installs it only if another catalog of the cluster does",
		}},
		"in OLM v1": {c, nil, []installed.Operator{{Generation: graph.V1, Package: "lib", Bundle: "lib.v1", Version: "1.0.0"}}, upgrade.Lacking, []string{gap, "mend: mirror what provides it: name its package in the configuration, or set dependencies: true for the catalog"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			catalogs := []upgrade.Catalog{{Name: "c", Kept: test.content}}
			for _, other := range test.others {
				catalogs = append(catalogs, upgrade.Catalog{Name: "other", Kept: other})
			}
			operators := append([]installed.Operator{classic("1.0.0", "stable")}, test.runs...)
			r, err := upgrade.Check(operators, catalogs, upgrade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a := r.Operators[0]
			if a.Outcome != test.outcome {
				t.Errorf("it is %s, want %s", a.Outcome, test.outcome)
			}
			var got []string
			for line := range strings.SplitSeq(say(a), "\n") {
				if strings.Contains(line, "needs") || strings.Contains(line, "mend:") {
					got = append(got, strings.TrimSpace(line))
				}
			}
			if test.outcome == upgrade.Lacking {
				test.want = append([]string{"it gets to the head " + a.Routes[0].Head + " only if something provides what p.v1.1.0 needs, and the mirror does not"}, test.want...)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// OLM v1 does not look for dependencies: it refuses who has any.
func TestRefusedHops(t *testing.T) {
	t.Parallel()
	const needs = `={"type":"olm.gvk.required","value":{"group":"x.io","version":"v1","kind":"A"}}`
	plain, ranged := v1("1.0.0"), v1("1.0.0")
	ranged.Range = "<=1.1.0"
	for name, test := range map[string]struct {
		operator installed.Operator
		lines    []string
		want     string
	}{
		"the head": {plain, []string{"stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0", "p.v1.2.0" + needs},
			"stranded\nc/ stranded: p.v1.1.0(replaces) p.v1.2.0(replaces)\n  it gets no further than p.v1.1.0: OLM v1 chooses p.v1.2.0 next, and refuses it"},
		"on the way": {plain, []string{"stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0 p.v1.3.0<p.v1.2.0", "p.v1.1.0" + needs},
			"stranded\nc/ stranded: p.v1.1.0(replaces)\n  it gets no further than p.v1.0.0: OLM v1 chooses p.v1.1.0 next, and refuses it"},
		"a way around": {plain, []string{"stable: p.v1.0.0 p.v1.0.5<p.v1.0.0 p.v1.1.0<p.v1.0.5~<1.1.0 p.v1.2.0<p.v1.0.5~>=1.0.5_<1.2.0", "p.v1.1.0" + needs},
			"by-hand\nc/ by-hand: p.v1.0.5(replaces) p.v1.2.0(replaces)\n  it gets no further than p.v1.0.0: OLM v1 chooses p.v1.1.0 next, and refuses it\n  mend: set spec.source.catalog.version of the ClusterExtension ext to one after the other of: 1.0.5, 1.2.0"},
		"beyond the range": {ranged, []string{"stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0", "p.v1.2.0" + needs},
			"reaches\nc/ reaches: p.v1.1.0(replaces)\n  it gets to the head p.v1.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := upgrade.Check([]installed.Operator{test.operator}, []upgrade.Catalog{{Name: "c", Kept: content(t, test.lines...)}}, upgrade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.SplitSeq(say(r.Operators[0]), "\n") {
				if !strings.Contains(line, " may=") {
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
