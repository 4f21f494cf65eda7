package bundle

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// The types of properties and dependencies.
const (
	typePackage         = "olm.package"
	typePackageRequired = "olm.package.required"
	typeGVK             = "olm.gvk"
	typeGVKRequired     = "olm.gvk.required"
	typeLabel           = "olm.label"
	typeLabelRequired   = "olm.label.required"
	typeObject          = "olm.bundle.object"
	typeExcerpt         = "olm.csv.metadata"
)

// A gvk is the value of olm.gvk and olm.gvk.required.
type gvk struct {
	Group   string `json:"group"`
	Kind    string `json:"kind"`
	Version string `json:"version"`
}

// A packageVersion is the value of olm.package, and of a dependency of that type.
type packageVersion struct {
	PackageName string `json:"packageName"`
	Version     string `json:"version"`
	Release     string `json:"release,omitempty"`
}

// property encodes a value as a property.
func property(propertyType string, value any) (catalog.Property, error) {
	raw, err := catalog.Marshal(value)
	if err != nil {
		return catalog.Property{}, fmt.Errorf("writing property %s: %w", propertyType, err)
	}
	return catalog.Property{Type: propertyType, Value: raw}, nil
}

// Object returns a manifest of a bundle, as JSON, as an olm.bundle.object property.
func Object(manifest []byte) catalog.Property {
	value := []byte(`{"data":"`)
	value = base64.StdEncoding.AppendEncode(value, manifest)
	return catalog.Property{Type: typeObject, Value: append(value, `"}`...)}
}

// Requirement returns the property for a dependency of a bundle: an element of
// metadata/dependencies.yaml, or a row of a database's table of dependencies. An olm.gvk becomes
// olm.gvk.required, an olm.package olm.package.required with its version as versionRange, an
// olm.label olm.label.required (opm writes olm.label, which would mean that the bundle itself has
// the label). Other types, such as olm.constraint, stay as they are.
func Requirement(dependencyType string, value []byte) (catalog.Property, error) {
	var required any
	var err error
	var propertyType string
	switch dependencyType {
	case typeGVK:
		var v gvk
		err = json.Unmarshal(value, &v)
		propertyType, required = typeGVKRequired, v
	case typePackage:
		var v packageVersion
		err = json.Unmarshal(value, &v)
		propertyType, required = typePackageRequired, struct {
			PackageName  string `json:"packageName"`
			VersionRange string `json:"versionRange"`
		}{v.PackageName, v.Version}
	case typeLabel:
		return catalog.Property{Type: typeLabelRequired, Value: value}, nil
	default:
		return catalog.Property{Type: dependencyType, Value: value}, nil
	}
	if err != nil {
		return catalog.Property{}, fmt.Errorf("reading a dependency of type %s: %w", dependencyType, unreadable(err))
	}
	return property(propertyType, required)
}
