package extension

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// compareBundles sorts the bundle first that OLM v1 prefers: not deprecated, then the higher
// version. A bundle with an invalid version comes last among its kind.
func compareBundles(a, b *catalog.Bundle, deprecated map[string]string) int {
	_, oldA := deprecated[a.Name]
	_, oldB := deprecated[b.Name]
	switch {
	case oldA != oldB:
		return sign(oldA)
	case (a.VersionErr != nil) != (b.VersionErr != nil):
		return sign(a.VersionErr != nil)
	case a.VersionErr != nil:
		return 0
	}
	return catalog.NewVersionRelease(b.Version, b.Release).Compare(catalog.NewVersionRelease(a.Version, a.Release))
}

// Preferred returns the bundle of a package that OLM v1 chooses for a ClusterExtension without channels and a version, or
// nil if the package has none.
func Preferred(p *catalog.Package) *catalog.Bundle {
	if len(p.Bundles) == 0 {
		return nil
	}
	deprecated := deprecations(p)
	return slices.MinFunc(p.Bundles, func(a, b *catalog.Bundle) int { return compareBundles(a, b, deprecated) })
}

func sign(later bool) int {
	if later {
		return 1
	}
	return -1
}

// deprecations returns the messages of the deprecated bundles of a package. OLM v1 only uses the
// first olm.deprecations object.
func deprecations(p *catalog.Package) map[string]string {
	all := map[string]string{}
	if len(p.Deprecations) > 0 {
		for _, e := range p.Deprecations[0].Entries {
			if e.Schema == catalog.SchemaBundle {
				all[e.Name] = e.Message
			}
		}
	}
	return all
}
