package validate

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// The values of the property types that opm decodes, as far as their members
// have types that can be wrong (operator-registry, alpha/property).
type (
	packageValue struct {
		PackageName, Version, Release string
	}
	packageRequiredValue struct {
		PackageName, VersionRange string
	}
	gvkValue struct {
		Group, Kind, Version string
	}
	objectValue struct {
		Data []byte
	}
	csvMetadataValue struct {
		Annotations, Labels                          map[string]string
		Description, DisplayName                     string
		Maturity, MinKubeVersion                     string
		Keywords                                     []string
		APIServiceDefinitions                        struct{ Owned, Required []struct{} }
		CustomResourceDefinitions                    struct{ Owned, Required []struct{} }
		InstallModes, Links, Maintainers, NativeAPIs []struct{}
		Provider                                     struct{ Name, URL string }
	}
)

// properties judges the values of a bundle's properties, and returns how many of
// them are manifests.
func (r *report) properties(b *catalog.Bundle) (objects int) {
	for i, p := range b.Properties {
		var value any
		switch p.Type {
		case "olm.package":
			value = &packageValue{}
		case "olm.package.required":
			value = &packageRequiredValue{}
		case "olm.gvk", "olm.gvk.required":
			value = &gvkValue{}
		case "olm.csv.metadata":
			value = &csvMetadataValue{}
		case "olm.bundle.object":
			objects++
			value = &objectValue{}
		}
		if len(p.Value) == 0 {
			r.add(BundleProperty, b.Meta, "package %q, bundle %q: properties[%d] (%s) has no value", b.Package, b.Name, i, p.Type)
		} else if value == nil {
			continue // any JSON will do, and this is JSON
		} else if err := json.Unmarshal(p.Value, value); err != nil {
			r.add(BundleProperty, b.Meta, "package %q, bundle %q: properties[%d] (%s): %s", b.Package, b.Name, i, p.Type, explain(err))
		}
	}
	return objects
}

// packageProperty returns the value of the bundle's olm.package property, and
// how many it has. It is nil if the value is wrong.
func packageProperty(b *catalog.Bundle) (value *packageValue, found int) {
	for _, p := range b.Properties {
		if p.Type != "olm.package" {
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

// explain says in the words of JSON what encoding/json says in those of Go.
func explain(err error) string {
	var (
		mismatch *json.UnmarshalTypeError
		corrupt  base64.CorruptInputError
	)
	switch {
	case errors.As(err, &corrupt):
		return "data is not base64"
	case !errors.As(err, &mismatch):
		return err.Error()
	}
	field := strings.ToLower(mismatch.Field[:min(1, len(mismatch.Field))]) + mismatch.Field[min(1, len(mismatch.Field)):]
	if field == "" {
		field = "the value"
	}
	kind := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Slice: "a list", reflect.Map: "an object", reflect.Struct: "an object",
	}[mismatch.Type.Kind()]
	value, _, _ := strings.Cut(mismatch.Value, " ")
	value = map[string]string{
		"array": "a list", "object": "an object", "number": "a number", "bool": "true or false", "string": "a string",
	}[value]
	return fmt.Sprintf("%s must be %s, not %s", field, kind, value)
}
