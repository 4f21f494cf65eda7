package validate

import (
	"encoding/json"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// The type of the property that says which package and version a bundle is.
const propertyPackage = "olm.package"

// propertyShapes are those of the property types that opm decodes
// (operator-registry, alpha/property). All other types may hold anything.
func propertyShapes() map[string]*shape {
	text := &shape{kind: '"'}
	texts := &shape{kind: '{', each: text}
	object := &shape{kind: '{'}
	objects := &shape{kind: '[', each: object}
	link := &shape{kind: '{', fields: map[string]*shape{"name": text, "url": text}}
	definitions := &shape{kind: '{', fields: map[string]*shape{"owned": objects, "required": objects}}
	gvk := &shape{kind: '{', fields: map[string]*shape{"group": text, "kind": text, "version": text}}
	return map[string]*shape{
		propertyPackage:        {kind: '{', fields: map[string]*shape{"packagename": text, "version": text, "release": text}},
		"olm.package.required": {kind: '{', fields: map[string]*shape{"packagename": text, "versionrange": text}},
		"olm.gvk":              gvk,
		"olm.gvk.required":     gvk,
		"olm.bundle.object":    {kind: '{', fields: map[string]*shape{"data": {kind: '"', base64: true}}},
		"olm.csv.metadata": {kind: '{', fields: map[string]*shape{
			"annotations": texts, "labels": texts,
			"description": text, "displayname": text, "maturity": text, "minkubeversion": text,
			"keywords":              {kind: '[', each: text},
			"apiservicedefinitions": definitions, "customresourcedefinitions": definitions,
			"installmodes": objects, "maintainers": objects, "nativeapis": objects,
			"links": {kind: '[', each: link}, "provider": link,
		}},
	}
}

// properties judges the values of a bundle's properties, unless that was done,
// and returns how many of them are manifests.
func (r *report) properties(b *catalog.Bundle) (objects int) {
	if r.judged != nil {
		r.problems = append(r.problems, r.judged[b]...)
		for _, p := range b.Properties {
			if p.Type == "olm.bundle.object" {
				objects++
			}
		}
		return objects
	}
	for i, p := range b.Properties {
		if p.Type == "olm.bundle.object" {
			objects++
		}
		if len(p.Value) == 0 {
			r.add(BundleProperty, b.Meta, "package %q, bundle %q: properties[%d] (%s) has no value", b.Package, b.Name, i, p.Type)
			continue
		}
		want := r.shapes[p.Type]
		if want == nil {
			continue // any JSON will do, and this is JSON
		}
		if err := r.shaper.check(p.Value, want); err != nil {
			r.add(BundleProperty, b.Meta, "package %q, bundle %q: properties[%d] (%s): %v", b.Package, b.Name, i, p.Type, err)
		}
	}
	return objects
}

// A packageValue is what an olm.package property says.
type packageValue struct {
	PackageName, Version, Release string
}

// packageProperty returns the value of the bundle's olm.package property, and
// how many it has. It is nil if the value is wrong.
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
