package upgrade_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// library returns a catalog of the package lib, which has one bundle with the given properties.
func library(t *testing.T, properties string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Read(t.Context(), fstest.MapFS{"lib.yaml": {Data: []byte(`---
{schema: olm.package, name: lib, defaultChannel: s}
---
{schema: olm.channel, package: lib, name: s, entries: [{name: lib.v1}]}
---
{schema: olm.bundle, package: lib, name: lib.v1, image: a/b, properties: [{type: olm.package, value: {packageName: lib, version: 1.0.0}}` + properties + `]}
`)}}, catalog.Options{})
	fail.On(t, err)
	return c
}

// OLM classic installs a bundle only together with its dependencies.
func TestDependenciesOfHops(t *testing.T) {
	t.Parallel()
	const (
		needsLib      = `p.v1.1.0={"type":"olm.package.required","value":{"packageName":"lib","versionRange":">=1.0.0"}}`
		libNeeds      = `, {type: olm.gvk.required, value: {group: x.io, version: v1, kind: A}}`
		missing       = "dependency possible=true: p.v1.1.0 needs package lib in the version range >=1.0.0; neither the mirror nor an installed operator provides it; OLM classic installs it only if another catalog of the cluster provides that"
		installedNote = "note: p.v1.1.0 needs package lib in the version range >=1.0.0, which the mirror does not provide; the installed lib.v1 does"
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
		"nothing":                             {c, nil, nil, upgrade.MissingDependency, []string{missing, "fix: mirror the package that provides the dependency: add it to the configuration, or set dependencies: true for the catalog"}},
		"a hop before the head":               {past, nil, nil, upgrade.MissingDependency, []string{missing, "fix: mirror the package that provides the dependency: add it to the configuration, or set dependencies: true for the catalog"}},
		"another upgrade path to the head":    {around, nil, nil, upgrade.ReachesHead, []string{"it reaches the head p.v1.2.0; OLM classic passes over p.v1.1.0, because a dependency of it is missing"}},
		"another catalog of the mirror":       {c, []*catalog.Catalog{library(t, "")}, nil, upgrade.ReachesHead, nil},
		"an outlined catalog":                 {c, []*catalog.Catalog{outlined}, nil, upgrade.ReachesHead, nil},
		"a provider that cannot be installed": {c, []*catalog.Catalog{library(t, libNeeds)}, nil, upgrade.MissingDependency, []string{missing, "fix: mirror the package that provides the dependency: add it to the configuration, or set dependencies: true for the catalog"}},
		"a provider that can be installed":    {c, []*catalog.Catalog{library(t, libNeeds)}, []installed.Operator{api}, upgrade.ReachesHead, nil},
		"installed":                           {c, nil, []installed.Operator{runs("n")}, upgrade.ReachesHead, []string{installedNote}},
		"installed and mirrored":              {c, []*catalog.Catalog{library(t, "")}, []installed.Operator{runs("n")}, upgrade.ReachesHead, nil},
		"installed in an unknown namespace":   {c, nil, []installed.Operator{runs("")}, upgrade.ReachesHead, []string{installedNote}},
		"installed in another namespace": {c, nil, []installed.Operator{runs("m")}, upgrade.ReachesHead, []string{
			"dependency possible=true: p.v1.1.0 needs package lib in the version range >=1.0.0; the mirror does not provide it, and the operator that does is not installed in namespace n, where OLM classic looks; OLM classic installs it only if another catalog of the cluster provides that",
		}},
		"installed by OLM v1": {c, nil, []installed.Operator{{Generation: graph.V1, Package: "lib", Bundle: "lib.v1", Version: "1.0.0"}}, upgrade.MissingDependency, []string{missing, "fix: mirror the package that provides the dependency: add it to the configuration, or set dependencies: true for the catalog"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			catalogs := []upgrade.Catalog{{Name: "c", Kept: test.content}}
			for _, other := range test.others {
				catalogs = append(catalogs, upgrade.Catalog{Name: "other", Kept: other})
			}
			operators := append([]installed.Operator{classic("1.0.0", "stable")}, test.runs...)
			r := checked(t, operators, catalogs, upgrade.Options{})
			a := r.Operators[0]
			fail.Diff(t, test.outcome, a.Outcome)
			var got []string
			for line := range strings.SplitSeq(format(a), "\n") {
				if strings.Contains(line, "dependenc") || strings.Contains(line, "needs") || strings.Contains(line, "fix:") {
					got = append(got, strings.TrimSpace(line))
				}
			}
			if test.outcome == upgrade.MissingDependency {
				test.want = append([]string{"it reaches the head " + a.Paths[0].Head + " only if another catalog provides the dependencies of p.v1.1.0, which the mirror does not have"}, test.want...)
			}
			fail.Diff(t, test.want, got)
		})
	}
}

// OLM v1 refuses bundles with dependencies.
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
			"stranded\nc/ stranded: p.v1.1.0(replaces) p.v1.2.0(replaces)\n  it stops at p.v1.1.0: OLM v1 chooses p.v1.2.0 next and refuses it"},
		"a hop before the head": {plain, []string{"stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0 p.v1.3.0<p.v1.2.0", "p.v1.1.0" + needs},
			"stranded\nc/ stranded: p.v1.1.0(replaces)\n  it stops at p.v1.0.0: OLM v1 chooses p.v1.1.0 next and refuses it"},
		"pinned versions around it": {plain, []string{"stable: p.v1.0.0 p.v1.0.5<p.v1.0.0 p.v1.1.0<p.v1.0.5~<1.1.0 p.v1.2.0<p.v1.0.5~>=1.0.5_<1.2.0", "p.v1.1.0" + needs},
			"by-hand\nc/ by-hand: p.v1.0.5(replaces) p.v1.2.0(replaces)\n  it stops at p.v1.0.0: OLM v1 chooses p.v1.1.0 next and refuses it\n  fix: set spec.source.catalog.version of the ClusterExtension ext to these versions, one after the other: 1.0.5, 1.2.0"},
		"outside the range": {ranged, []string{"stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0", "p.v1.2.0" + needs},
			"reaches\nc/ reaches: p.v1.1.0(replaces)\n  it reaches the head p.v1.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checked(t, []installed.Operator{test.operator}, []upgrade.Catalog{{Name: "c", Kept: content(t, test.lines...)}}, upgrade.Options{})
			var got []string
			for line := range strings.SplitSeq(format(r.Operators[0]), "\n") {
				if !strings.Contains(line, " possible=") {
					got = append(got, line)
				}
			}
			fail.Diff(t, test.want, strings.Join(got, "\n"))
		})
	}
}
