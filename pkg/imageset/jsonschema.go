package imageset

import (
	"encoding/json"
	"slices"
	"strings"
)

func schemaOf(s shape, title, description string) []byte {
	s = s.withExamples("", examples())
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = title
	s.Type = []string{"object"}
	s.Description = description
	b, _ := json.MarshalIndent(s, "", "  ") // a shape always marshals
	return append(b, '\n')
}

// A shape is the part of JSON Schema that the format needs.
type shape struct {
	Schema               string           `json:"$schema,omitempty"`
	Title                string           `json:"title,omitempty"`
	Description          string           `json:"description,omitempty"`
	Type                 []string         `json:"type,omitempty"`
	Enum                 []any            `json:"enum,omitempty"`
	Examples             []any            `json:"examples,omitempty"`
	Pattern              string           `json:"pattern,omitempty"`
	MaxLength            int              `json:"maxLength,omitempty"`
	Minimum              int64            `json:"minimum,omitempty"`
	Maximum              int64            `json:"maximum,omitempty"`
	Properties           map[string]shape `json:"properties,omitempty"`
	Required             []string         `json:"required,omitempty"`
	AdditionalProperties *bool            `json:"additionalProperties,omitempty"`
	Items                *shape           `json:"items,omitempty"`
}

func (o object[T]) shape() shape {
	s := shape{Type: []string{"object", "null"}, Properties: map[string]shape{}, AdditionalProperties: new(bool)}
	for _, f := range o.fields {
		property := f.shape
		if f.required {
			s.Required = append(s.Required, f.name)
			property.Type = slices.DeleteFunc(slices.Clone(property.Type), func(t string) bool { return t == "null" })
			property.Enum = slices.DeleteFunc(slices.Clone(property.Enum), func(e any) bool { return e == nil || e == "" })
		}
		s.Properties[f.name] = property
	}
	return s
}

func (s shape) isText() bool { return slices.Contains(s.Type, "string") }

// wanted describes the value of a required field for a hint.
func (s shape) wanted() string {
	switch {
	case len(s.Enum) == 1:
		if value, ok := s.Enum[0].(string); ok {
			return value
		}
	case s.isText():
		return strings.ToLower(s.Description[:1]) + strings.TrimSuffix(s.Description[1:], ".")
	}
	return "a mapping"
}

// names returns the names of all fields of s, nested ones included.
func (s shape) names() []string {
	var all []string
	for n, property := range s.Properties {
		if property.Items != nil {
			property = *property.Items
		}
		all = append(append(all, n), property.names()...)
	}
	return all
}

// parents returns the paths, below path, of the objects that have a field with the given name,
// sorted.
func (s shape) parents(path, name string) []string {
	var all []string
	for n, property := range s.Properties {
		if n == name && path != "" {
			all = append(all, path)
		}
		at := join(path, n)
		if property.Items != nil {
			property, at = *property.Items, at+"[]"
		}
		all = append(all, property.parents(at, name)...)
	}
	slices.Sort(all)
	return all
}
