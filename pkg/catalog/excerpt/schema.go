package excerpt

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Schema lists the fields of one version of a CustomResourceDefinition.
type Schema struct {
	Group, Kind, Version string
	// Served says that the API server serves this version.
	Served bool
	// Converted says that a webhook converts objects between versions. Otherwise they stay
	// unchanged.
	Converted bool
	// Fields maps the path of a field, such as "spec.nodes[].name" or "spec.labels{}", to whether
	// it is required wherever its parent exists. It omits fields at a depth of more than 50 or with
	// a path of more than 500 bytes.
	Fields map[string]bool
}

// Limits of a schema: every path repeats its parent's, so that a small schema could expand to a
// large list.
const (
	maxDepth  = 50
	maxPath   = 500
	maxFields = 50_000
)

// Schemas reads the CustomResourceDefinitions among the manifests of a bundle, in the order of its
// properties. It returns an error if a manifest cannot be parsed.
func Schemas(b *catalog.Bundle) ([]Schema, error) {
	var all []Schema
	err := each(b, nil, func(value []byte) error {
		m, err := manifestOf(value)
		if err != nil || m.Kind != "CustomResourceDefinition" {
			return err
		}
		more, err := schemas(orEmpty(m.Spec))
		all = append(all, more...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// A validation holds a schema: in v1 one for each version, in v1beta1 possibly one for all.
type validation struct {
	Root *node `json:"openAPIV3Schema"`
}

// schemas reads a CRD's spec.
func schemas(text []byte) ([]Schema, error) {
	var spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Conversion struct {
			Strategy string `json:"strategy"`
		} `json:"conversion"`
		Validation validation `json:"validation"`
		Versions   []struct {
			Name   string     `json:"name"`
			Served bool       `json:"served"`
			Schema validation `json:"schema"`
		} `json:"versions"`
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, err
	}
	var all []Schema
	for _, v := range spec.Versions {
		s := Schema{
			Group: spec.Group, Kind: spec.Names.Kind, Version: v.Name, Served: v.Served,
			Converted: spec.Conversion.Strategy == "Webhook", Fields: map[string]bool{},
		}
		root := cmp.Or(v.Schema.Root, spec.Validation.Root)
		root.walk("", 0, s.Fields)
		all = append(all, s)
	}
	return all, nil
}

// A node is an OpenAPI schema, reduced to what defines fields.
type node struct {
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Items      *node            `json:"items"`
	// Additional is a schema, or true or false.
	Additional json.RawMessage `json:"additionalProperties"`
}

// walk adds the fields of a node at a path.
func (n *node) walk(path string, depth int, fields map[string]bool) {
	if n == nil || depth > maxDepth || len(path) > maxPath {
		return
	}
	within := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if len(fields) == maxFields {
			return
		}
		fields[within(name)] = false
		n.Properties[name].walk(within(name), depth+1, fields)
	}
	for _, name := range n.Required {
		if _, known := fields[within(name)]; known || len(fields) < maxFields {
			fields[within(name)] = true
		}
	}
	n.Items.walk(path+"[]", depth+1, fields)
	var additional *node
	if json.Unmarshal(n.Additional, &additional) == nil { // true and false have no fields
		additional.walk(path+"{}", depth+1, fields)
	}
}
