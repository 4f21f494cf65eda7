package validate

import (
	"encoding/json"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// propertyPackage is the type of the property with the package and version of a bundle.
const propertyPackage = "olm.package"

// properties checks the values of a bundle's properties, unless a Validator did so, and returns the
// number of manifests among them.
func (r *report) properties(b *catalog.Bundle) (objects int) {
	if r.checked != nil {
		r.problems = append(r.problems, r.checked[b]...)
		for _, p := range b.Properties {
			if p.Type == "olm.bundle.object" {
				objects++
			}
		}
		return objects
	}
	whole, err := b.Complete()
	if err != nil {
		r.add(BundleProperty, b.Meta, "package %q, bundle %q: %v", b.Package, b.Name, err)
		return 0
	}
	for i, p := range whole.Properties {
		if p.Type == "olm.bundle.object" {
			objects++
		}
		if len(p.Value) == 0 {
			r.add(BundleProperty, b.Meta, "package %q, bundle %q: properties[%d] (%s) has no value", b.Package, b.Name, i, p.Type)
			continue
		}
		want := r.shapes[p.Type]
		if want == nil {
			continue // any valid JSON is allowed
		}
		if err := r.shaper.check(p.Value, want); err != nil {
			r.add(BundleProperty, b.Meta, "package %q, bundle %q: properties[%d] (%s): %v", b.Package, b.Name, i, p.Type, err)
		}
	}
	return objects
}

// A packageValue is the value of an olm.package property.
type packageValue struct {
	PackageName, Version, Release string
}

// packageProperty returns the value of the bundle's olm.package property, and the number of such
// properties. The value is nil if it is invalid.
func packageProperty(b *catalog.Bundle) (value *packageValue, found int) {
	for _, p := range b.Properties {
		if p.Type != propertyPackage {
			continue
		}
		found++
		value = &packageValue{}
		if json.Unmarshal(p.Value, value) != nil {
			value = nil
		}
	}
	return value, found
}
