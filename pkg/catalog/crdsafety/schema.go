package crdsafety

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Keywords of schemas that contain schemas.
const (
	keyProperties = "properties"
	keyItems      = "items"
	keyAdditional = "additionalProperties"
	keyOneOf      = "oneOf"
)

// keywords are the keywords of a schema that the API server keeps (apiextensions/v1, JSONSchemaProps),
// in the order of reports, except properties and items: their content is compared field by field.
// Descriptions may change.
func keywords() []string {
	return []string{
		"type", "nullable", "required", "enum", "default", "pattern", keyOneOf,
		"minimum", "minLength", "minItems", "minProperties", "maximum", "maxLength", "maxItems", "maxProperties",
		"id", "$schema", "$ref", "format", "title", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "multipleOf",
		"allOf", "anyOf", "not", keyAdditional, "patternProperties", "dependencies", "additionalItems", "definitions",
		"externalDocs", "example", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
		"x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type",
		"x-kubernetes-validations",
	}
}

// Limits of a schema. A field's path repeats the path of its parent, so that a small schema could
// become a large list.
const (
	maxDepth  = 100
	maxPath   = 2000
	maxFields = 100_000
)

// A node is one schema: its keywords with their values.
type node map[string]any

// flatten adds a schema and those within it by their paths.
func (n node) flatten(path string, depth int, fields map[string]node) error {
	if depth > maxDepth || len(path) > maxPath || len(fields) >= maxFields {
		return fmt.Errorf("its schema is too large: more than %d levels or %d fields", maxDepth, maxFields)
	}
	fields[path] = n
	for _, key := range slices.Sorted(maps.Keys(n)) {
		var err error
		switch key {
		case keyProperties:
			prefix := path + "."
			if path == "" {
				prefix = ""
			}
			err = n.each(key, func(name string) string { return prefix + name }, depth, fields)
		case "patternProperties", "definitions", "dependencies":
			err = n.each(key, func(name string) string { return path + "{" + name + "}" }, depth, fields)
		case keyItems:
			err = flattenOne(n[key], path+"[]", depth, fields)
		case keyAdditional:
			err = flattenOne(n[key], path+"{}", depth, fields)
		case "additionalItems", "not":
			err = flattenOne(n[key], path+"["+key+"]", depth, fields)
		case "allOf", "anyOf", keyOneOf:
			list, _ := n[key].([]any)
			for i, x := range list {
				if err = flattenOne(x, path+"["+key+" "+strconv.Itoa(i)+"]", depth, fields); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// each flattens the schemas of a keyword that has them by name.
func (n node) each(key string, path func(name string) string, depth int, fields map[string]node) error {
	list, _ := n[key].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if err := flattenOne(list[name], path(name), depth, fields); err != nil {
			return err
		}
	}
	return nil
}

// flattenOne flattens a value if it is a schema: additionalProperties may be true or false, and
// dependencies may be lists of names.
func flattenOne(value any, path string, depth int, fields map[string]node) error {
	if n, ok := value.(map[string]any); ok {
		return node(n).flatten(path, depth+1, fields)
	}
	return nil
}

// text returns the value of a keyword as JSON, or "" if it is none. Descriptions and examples do not count in oneOf.
func (n node) text(key string) string {
	value := plain(key, n[key])
	if key == keyOneOf {
		value = withoutTexts(value)
	}
	if value == nil {
		return ""
	}
	if list, ok := value.([]any); ok && (key == "enum" || key == keyOneOf || key == "required") { // sets
		return "[" + strings.Join(texts(list), ",") + "]"
	}
	return textOf(value)
}

// textOf returns a value as JSON with sorted keys.
func textOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value) // values that were read from JSON have none
	}
	return string(text)
}

// texts returns the elements of a list as JSON, sorted, without duplicates.
func texts(list []any) []string {
	all := elements.Map(list, textOf)
	slices.Sort(all)
	return slices.Compact(all)
}

// withoutTexts returns the schemas of a list without their own descriptions and examples.
func withoutTexts(value any) any {
	list, ok := value.([]any)
	if !ok {
		return value
	}
	var all []any
	for _, x := range list {
		if m, ok := x.(map[string]any); ok {
			m = maps.Clone(m)
			delete(m, "description")
			delete(m, "example")
			x = m
		}
		all = append(all, x)
	}
	return all
}
