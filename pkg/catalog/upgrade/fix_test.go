package upgrade_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// An operator that is stranded by a mirror of heads reaches the head after the suggested fix: the
// filter keeps the bundles that the fix names.
func TestFixes(t *testing.T) {
	t.Parallel()
	const folder = "../../../../shared/catalogs"
	catalogs := map[string]*catalog.Catalog{"p": content(t, chain, "fast: p.v1.1.0 p.v1.2.0<p.v1.1.0 p.v1.4.0<p.v1.2.0")}
	for _, name := range []string{"infinispan", "project-quay", "habana-ai-operator", "openshift-cert-manager-operator"} {
		if _, err := os.Stat(folder); err != nil {
			break
		}
		c, err := catalog.Read(t.Context(), os.DirFS(filepath.Join(folder, name)), catalog.Options{})
		fail.On(t, err)
		catalogs[name] = c
	}
	for name, c := range catalogs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.Packages[0]
			op := imageset.Operator{Catalog: "example.com/c:v1", Packages: []imageset.Package{{Name: p.Name}}}
			heads, err := filter.Apply(c, op)
			fail.On(t, err)
			suggested := 0
			for _, o := range operatorsOf(p) {
				before := check(t, o, heads.Catalog, c)
				if before.Outcome != upgrade.Stranded || len(before.Paths[0].Fixes) == 0 || len(before.Paths[0].Fixes[0].Keep) == 0 {
					continue
				}
				suggested++
				fixed := op
				fixed.Installed = []imageset.Installed{o.Entry()}
				result, err := filter.Apply(c, fixed)
				fail.On(t, err)
				for _, keep := range before.Paths[0].Fixes[0].Keep {
					if result.Catalog.Package(p.Name).Bundle(keep) == nil {
						t.Errorf("%s from %s: %s was to be kept, and was not", o.Generation, o.Bundle, keep)
					}
				}
				if after := check(t, o, result.Catalog, c); after.Outcome == upgrade.Stranded {
					t.Errorf("%s from %s in %q is still stranded: %s", o.Generation, o.Bundle, o.Channels, after.Paths[0].Explanation)
				}
			}
			if suggested == 0 {
				t.Error("no operator is stranded")
			}
		})
	}
}

// operatorsOf returns operators that run the bundles of a package, in each of its channels and in
// both generations of OLM.
func operatorsOf(p *catalog.Package) []installed.Operator {
	var all []installed.Operator
	for _, ch := range p.Channels {
		for i, e := range ch.Entries {
			b := p.Bundle(e.Name)
			if i%3 != 0 || b == nil { // a third of them: to keep the test fast
				continue
			}
			for _, generation := range []graph.Generation{graph.Classic, graph.V1} {
				all = append(all, installed.Operator{
					Generation: generation, Name: b.Name, Package: p.Name, Bundle: b.Name,
					Version: b.Version.String(), Release: b.Release, Channels: []string{ch.Name},
				})
			}
		}
	}
	return all
}

func check(t *testing.T, o installed.Operator, kept, source *catalog.Catalog) upgrade.Result {
	t.Helper()
	r := checked(t, []installed.Operator{o}, []upgrade.Catalog{{Name: "c", Kept: kept, Source: source}}, upgrade.Options{ClusterVersion: "4.19"})
	return r.Operators[0]
}

// checked checks operators.
func checked(t *testing.T, operators []installed.Operator, catalogs []upgrade.Catalog, opts upgrade.Options) upgrade.Report {
	t.Helper()
	r, err := upgrade.Check(operators, catalogs, opts)
	fail.On(t, err)
	return r
}
