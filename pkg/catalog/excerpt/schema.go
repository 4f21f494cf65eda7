package excerpt

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Schema is what a CustomResourceDefinition asks of the objects of one version.
type Schema struct {
	Group, Kind, Version string
	// Served says that clusters give out objects in this version.
	Served bool
	// Converted says that a webhook converts objects from one version to another;
	// else they stay as they are.
	Converted bool
	// Fields are those that the schema has by path, such as "spec.nodes[].name" or
	// "spec.labels{}", and whether an object must have them wherever it has what
	// they are in. What lies deeper than 50 fields or has a longer path than any
	// that is written by people is left out.
	Fields map[string]bool
}

// How deep a schema is followed, and how far: paths repeat what they lie in, so
// that a small schema could have a large list of them.
const (
	maxDepth  = 50
	maxPath   = 500
	maxFields = 50_000
)

// Schemas reads the CustomResourceDefinitions among the manifests of a bundle, in
// the order of its properties. The error is a manifest that cannot be read.
func Schemas(b *catalog.Bundle) ([]Schema, error) {
	var all []Schema
	for i, p := range b.Properties {
		if p.Type != "olm.bundle.object" {
			continue
		}
		m, err := manifestOf(p.Value)
		if err == nil && m.Kind == "CustomResourceDefinition" {
			var more []Schema
			more, err = schemas(orEmpty(m.Spec))
			all = append(all, more...)
		}
		if err != nil {
			return nil, fmt.Errorf("reading property %d (%s) of bundle %s: %w", i, p.Type, b.Name, err)
		}
	}
	return all, nil
}

// validation holds a schema, in v1 one for each version, in v1beta1 maybe one for
// all.
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
		root := v.Schema.Root
		if root == nil {
			root = spec.Validation.Root
		}
		root.walk("", 0, s.Fields)
		all = append(all, s)
	}
	return all, nil
}

// A node is a schema of OpenAPI, with what says which fields there are.
type node struct {
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Items      *node            `json:"items"`
	// Additional is a schema, or true or false.
	Additional json.RawMessage `json:"additionalProperties"`
}

// walk enters the fields of a node, which lies at a path.
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
