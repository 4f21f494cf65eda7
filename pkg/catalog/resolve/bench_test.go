package resolve_test

import (
	"fmt"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
)

// BenchmarkNeeds is a round over an index of 600 packages, 10,000 bundles and 70,000 APIs. 20
// packages are kept; they depend on an API, a package and a rule.
func BenchmarkNeeds(b *testing.B) {
	const packages, versions = 600, 17
	var whole catalog.Catalog
	var kept []string
	for i := range packages {
		name := fmt.Sprintf("p%03d", i)
		p := &catalog.Package{Name: name, DefaultChannel: "stable"}
		c := &catalog.Channel{Package: name, Name: "stable"}
		for v := range versions {
			properties := []string{}
			for k := range 7 {
				properties = append(properties, provides(fmt.Sprintf("K%d-%d", i, k)))
			}
			if i < 20 {
				properties = append(properties, requires(fmt.Sprintf("K%d-1", 599-i)), requiresPackage(fmt.Sprintf("p%03d", 300+i), ">=1.3.0 <1.9.0"))
				kept = append(kept, fmt.Sprintf("%s.v1.%d.0", name, v))
			}
			if i == 0 {
				properties = append(properties, cel(`properties.exists(p, p.type == "olm.package" && p.value.packageName == "p400" && semver_compare(p.value.version, "1.4.0") < 0)`))
			}
			one := fbc{}.bundle(name, fmt.Sprintf("1.%d.0", v), properties...).read(b)
			p.Bundles = append(p.Bundles, one.Packages[0].Bundles...)
			e := catalog.Entry{Name: fmt.Sprintf("%s.v1.%d.0", name, v)}
			if v > 0 {
				e.Replaces = fmt.Sprintf("%s.v1.%d.0", name, v-1)
			}
			c.Entries = append(c.Entries, e)
		}
		p.Channels = []*catalog.Channel{c}
		whole.Packages = append(whole.Packages, p)
	}
	catalogs := []resolve.Catalog{{Name: "c", Wanted: true, Original: &whole, Kept: cut(&whole, kept...)}}
	for b.Loop() {
		if r := resolve.Dependencies(catalogs, nil); len(r.Additions) != 41 || len(r.Unsatisfied) != 0 {
			b.Fatal(len(r.Additions), r.Unsatisfied)
		}
	}
}
